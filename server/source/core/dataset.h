// A dataset: which samples there are, and the means to get them. Immutable once opened; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/fault.h"
#include "common/base/status.h"
#include "server/source/core/row_layout.h"
#include "server/source/files/sha256.h"

namespace penstock::source {

// How samples are stored, and so who fills a row with one.
enum class Storage {
  kEncoded,  // as files of codecs: a reader brings the bytes, a worker decodes them
  kRows,     // as they are: rows are copied
  kNothing,  // not at all: whoever consumes the rows makes them
};

// What may be asked for of each sample. Of encoded samples: what travels beside the image.
struct Field {
  std::string name;
  base::DType type = base::DType::kUInt8;
  std::vector<uint32_t> shape;  // of variable length: without its first side
  bool variable = false;        // in its first side: who asks says the most
  // Names places in the image (a mask, boxes): wrong beside an image that was cropped or flipped.
  bool placed = false;
};

// A field that is asked for. `most`: elements along the first side, of a field of variable length;
// one that is longer is the sample's fault. 0 for the others. `as_stored`: also where the image
// beside it is cropped or flipped at random.
struct FieldRequest {
  std::string name;
  uint32_t most = 0;
  bool as_stored = false;
  bool operator==(const FieldRequest&) const = default;
};

// Fields that were asked for, as a dataset understood it: which ones, and where they go.
struct Selection {
  std::vector<uint32_t> fields;  // places in Dataset::fields(), one for each tensor of the layout
  RowLayout layout;
  bool operator==(const Selection&) const = default;
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual absl::string_view kind() const = 0;  // "folder", "idx", …: for people
  virtual uint64_t samples() const = 0;        // ≥ 1
  virtual uint64_t digest() const = 0;         // of the manifest: part of a feed's fingerprint
  virtual const std::vector<std::string>& classes() const = 0;
  virtual bool labeled() const { return true; }  // otherwise labels are 0 and mean nothing
  virtual int64_t label(uint64_t sample) const = 0;
  // The labels of many samples, int64 each, one behind the other.
  virtual void CopyLabels(std::span<const uint64_t> samples, std::byte* into) const;
  // For people: where the sample's bytes are. From memory, at any time: nothing is read.
  virtual std::string path(uint64_t sample) const = 0;
  // The same by the sample's own name, where only its file knows that. Reads, and so may not come
  // back.
  virtual std::string FindPath(uint64_t sample) const { return path(sample); }
  // Of the file that the sample's bytes are in, and its state (StampOf): another one, another
  // stamp. Survives a restart. 0: not known, or no file.
  virtual uint64_t stamp(uint64_t) const { return 0; }
  // Whether the sample's file is, as of now, the one that was indexed. Looks at it without opening
  // it. True where opening the dataset has looked at all files.
  virtual bool IsUnchanged(uint64_t) const { return true; }
  // Whether a read found a file that is not the one that was indexed: then nothing here is to be
  // shared with anybody new, and opening the dataset again indexes it anew. Never unset.
  virtual bool changed() const { return false; }

  virtual Storage storage() const { return Storage::kEncoded; }
  // Of what lies in files that are read best from front to end: how many samples the longest has.
  // 0: no such thing.
  virtual uint64_t shard_samples() const { return 0; }
  // Of rows that their consumer makes: what of.
  virtual uint64_t row_seed() const { return 0; }

  virtual std::vector<Field> fields() const { return {}; }
  // Nothing wished: of encoded samples the image alone; of rows all fields but those of variable
  // length. InvalidArgument names the wish that cannot be, and what there is.
  virtual absl::StatusOr<Selection> Select(std::span<const FieldRequest> requests) const;

  // All content, in pieces that may be read apart, for content_digest.h. Errors as of a reader's
  // Open.
  virtual uint64_t content_pieces() const { return 0; }
  virtual absl::Status AddContent(uint64_t piece, Sha256& sum) const;

  // How large a sample's bytes are now, then the bytes themselves. One SampleReader serves one
  // thread.
  class Reader {
   public:
    virtual ~Reader() = default;
    // Opens the sample; its size in bytes. A status is the source's trouble (EIO, gone, time-out):
    // try again; but DataLoss, which says that what is stored is not what was indexed, and stays
    // so. A fault is the sample's own (empty, no image).
    struct Opened {
      uint64_t bytes = 0;
      base::Fault fault = base::Fault::kNone;
    };
    virtual absl::StatusOr<Opened> Open(uint64_t sample) = 0;
    // Reads the opened sample into `into`, which has exactly the size that Open gave. A status as
    // of Open.
    virtual absl::Status Read(std::span<std::byte> into) = 0;
    // Fills the row of each block of the selection with what the opened sample has, all of it.
    // Between Open and Read. A status and a fault as of Open; then nothing is known of the rows.
    virtual absl::StatusOr<base::Fault> ReadFields(const Selection& selection,
                                                   std::span<std::byte* const> rows);
  };
  // Of encoded samples.
  virtual std::unique_ptr<Reader> NewReader() const;

  // Of samples that are stored as rows: of each block of the selection, puts the samples' rows one
  // behind the other from `blocks[i]` on. A status is the source's trouble, and nothing is known of
  // what is there then: try again; but DataLoss, which says that what is stored is wrong and stays
  // so.
  virtual absl::Status CopyRows(const Selection& selection, std::span<const uint64_t> samples,
                                std::span<std::byte* const> blocks) const;
};

// What CopyLabels is made of: `label(sample)` for each.
template <typename Label>
void CopyEach(std::span<const uint64_t> samples, std::byte* into, const Label& label) {
  for (const uint64_t sample : samples) {
    const int64_t of_sample = label(sample);
    std::memcpy(into, &of_sample, sizeof(of_sample));
    into += sizeof(of_sample);
  }
}

// The wishes, in their order, of the fields that a dataset says it has: what Select is made of.
absl::StatusOr<Selection> SelectFrom(const Dataset& dataset,
                                     std::span<const FieldRequest> requests);

}  // namespace penstock::source
