// A dataset: which samples it has, and how to read them.
// **Thread safety**: immutable once opened; any thread may call. A Reader serves one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/fault.h"
#include "common/base/status.h"
#include "common/base/target.h"
#include "server/source/core/row_layout.h"
#include "server/source/files/remote_file.h"
#include "server/source/files/sha256.h"
#include "server/source/files/use_times.h"
#include "server/unpack/recipe.h"

namespace penstock::source {

// How samples are stored. This decides who fills a row.
enum class Storage {
  kEncoded,  // encoded files: a reader reads the bytes, a worker decodes them
  kRows,     // rows without an image: copied, or unpacked by a worker (`packed`), without decoding
  kNothing,  // not stored: the consumer generates the rows
  kMade,     // made by Python workers, a whole batch at once
};

// A field that a request can select. In datasets of encoded samples, fields come in addition to the
// image.
struct SampleField {
  std::string name;
  base::DType type = base::DType::kUInt8;
  std::vector<uint32_t> shape = {};  // without its first dimension if `variable`
  bool variable = false;             // the first dimension varies; the request states its maximum
  // All samples so far have as many (numbers, or items along the first dimension); a request that
  // states a maximum makes the field one of variable length.
  bool list = false;
  // Holds positions in the image (a mask, boxes), which are wrong once the image is cropped or
  // flipped.
  bool placed = false;
  // Follows the image's geometry unless it is requested as it is stored. As a mask, the field is
  // stored as the bytes of its file: unsigned bytes of variable length.
  base::TargetSpec target = {};
};

// The name of a field with the class of each object, in datasets with annotations.
inline constexpr char kObjectLabels[] = "labels";

// A request for a field. `most` is the maximum number of elements along the first dimension of a
// variable-length field, 0 for other fields; a sample that exceeds it has a fault. `as_stored`
// allows the field beside an image that is randomly cropped or flipped. `target` says what the
// field is if the dataset does not know it, or in what it differs from SampleField::target.
struct FieldRequest {
  std::string name;
  uint32_t most = 0;
  bool as_stored = false;
  std::optional<base::TargetSpec> target = {};
  bool operator==(const FieldRequest&) const = default;
};

// Requested fields, resolved by a dataset: which fields, and where they go.
struct Selection {
  // Indices into Dataset::fields(), one for each tensor of the layout.
  std::vector<uint32_t> fields;
  RowLayout layout;
  // What each tensor is. Empty: none is a target.
  std::vector<base::TargetSpec> targets = {};
  bool operator==(const Selection&) const = default;
};

// A part of a file. An offset of 0 means the whole file.
struct Extent {
  std::string file;  // its path, absolute, not escaped
  uint64_t offset = 0, bytes = 0;
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual absl::string_view kind() const = 0;  // "folder", "idx", …: for messages
  virtual uint64_t samples() const = 0;        // ≥ 1
  virtual uint64_t digest() const = 0;  // digest of the manifest; part of a feed's fingerprint
  virtual const std::vector<std::string>& classes() const = 0;
  virtual bool labeled() const { return true; }  // if false, all labels are 0 and mean nothing
  virtual int64_t label(uint64_t sample) const = 0;
  // Copies the labels of many samples, one int64 each, contiguously.
  virtual void CopyLabels(std::span<const uint64_t> samples, std::byte* into) const;
  // Where the sample's bytes are, for messages. Reads only memory, so it may be called at any time.
  virtual std::string path(uint64_t sample) const = 0;
  // As path(), but with the sample's own name where only its file contains that. Reads the file, so
  // it may block.
  virtual std::string FindPath(uint64_t sample) const { return path(sample); }
  // Where the sample's encoded image lies. Nullopt: it is not the bytes of a part of a file.
  virtual std::optional<Extent> extent(uint64_t) const { return std::nullopt; }
  // Identifies the sample's file and its state (StampOf): if the file changes, so does the stamp.
  // Stable across restarts. 0 if unknown, or if there is no file.
  virtual uint64_t stamp(uint64_t) const { return 0; }
  // Whether the sample's file is still the one that was indexed. Uses stat(2) only, never open(2).
  // True if all files were checked when the dataset was opened.
  virtual bool IsUnchanged(uint64_t) const { return true; }
  // Whether a read found a file that has changed since it was indexed. If so, the dataset must not
  // be shared with new sessions, and opening it again re-indexes it. Once true, stays true.
  virtual bool changed() const { return false; }

  // Whether samples lie far away, so that Expect is worth a call.
  virtual bool is_remote() const { return false; }
  // Says that the sample's image and these fields will be read soon, and when they will be needed
  // after that. Never waits.
  virtual void Expect(uint64_t, const Selection&, const UseTimes&) const {}
  // Fetches all that the sample has into the cache of its store. **Requires**: is_remote().
  // **Errors**: as Reader::Read.
  virtual absl::StatusOr<FetchOutcome> Fetch(uint64_t) const { return FetchOutcome{}; }
  // Says when they will be needed next. Never waits.
  virtual void NoteUse(uint64_t, const Selection&, uint64_t /*next*/) const {}

  virtual Storage storage() const { return Storage::kEncoded; }
  // kRows: whether samples must be parsed, so that workers fill the rows from what a Reader reads.
  // Otherwise CopyRows copies them.
  virtual bool packed() const { return false; }
  // Bytes of the largest sample that a Reader reads; 0 if unknown.
  virtual uint64_t largest_sample() const { return 0; }
  // If samples lie in files that are best read from front to end: the number of samples in the
  // longest file. Otherwise 0.
  virtual uint64_t shard_samples() const { return 0; }
  // The seed of rows that the consumer generates.
  virtual uint64_t row_seed() const { return 0; }

  virtual std::vector<SampleField> fields() const { return {}; }
  // Resolves requested fields. Without requests it selects the image alone (encoded samples) or all
  // fixed-length fields (rows).
  // **Errors**: InvalidArgument names the request that cannot be met, and the available fields.
  virtual absl::StatusOr<Selection> Select(std::span<const FieldRequest> requests) const;

  // The whole content, in pieces that can be read independently, for content_digest.h. **Errors**:
  // as Reader::Open.
  virtual uint64_t content_pieces() const { return 0; }
  virtual absl::Status AddContent(uint64_t piece, Sha256& sum) const;

  // Reads one sample at a time: first Open, which gives its size, then the bytes.
  // **Thread safety**: one thread.
  class Reader {
   public:
    virtual ~Reader() = default;
    // Opens the sample and returns its size in bytes.
    // **Errors**: a status means that the source failed (EIO, file missing, time-out); retry. The
    // exception is DataLoss, which is permanent: the stored data is not what was indexed. A fault
    // means that the sample itself is bad (empty, no image).
    struct Opened {
      uint64_t bytes = 0;
      base::Fault fault = base::Fault::kNone;
    };
    virtual absl::StatusOr<Opened> Open(uint64_t sample) = 0;
    // Reads the opened sample. **Requires**: `into` has exactly the size that Open returned.
    // **Errors**: as Open.
    virtual absl::Status Read(std::span<std::byte> into) = 0;
    // How the opened sample's bytes are packed. kImage: Read gives the image, and ReadFields fills
    // the fields. Otherwise a worker does both with this recipe, whose fields are the selection's
    // tensors in their order; where they go, and the sizes of samples, are left open.
    virtual unpack::Recipe RecipeFor(const Selection&) const { return {}; }
    // Opens and reads the encoded file of a mask of the opened sample: the `i`-th tensor of the
    // selection, whose target is kMask. Call them between Open and Read; the order is that of the
    // tensors, and the next OpenMask may come before ReadMask. **Errors**: as Open and Read.
    virtual absl::StatusOr<Opened> OpenMask(const Selection& selection, size_t i);
    virtual absl::Status ReadMask(const Selection& selection, size_t i, std::span<std::byte> into);
    // Fills the row in each block of the selection from the opened sample, but for masks. Call it
    // between Open and Read. **Requires**: RecipeFor gives kImage. **Errors**: as Open; the rows'
    // contents are then unspecified.
    virtual absl::StatusOr<base::Fault> ReadFields(const Selection& selection,
                                                   std::span<std::byte* const> rows);
  };
  // **Requires**: storage() is kEncoded, or packed().
  virtual std::unique_ptr<Reader> NewReader() const;

  // Copies samples to each block of the selection, as contiguous rows starting at `blocks[i]`.
  // **Requires**: storage() is kRows, and not packed().
  // **Errors**: the source failed; the blocks' contents are then unspecified; retry. DataLoss is
  // permanent: the stored data is wrong.
  virtual absl::Status CopyRows(const Selection& selection, std::span<const uint64_t> samples,
                                std::span<std::byte* const> blocks) const;
};

// Implements CopyLabels by calling `label(sample)` for each sample.
template <typename Label>
void CopyEach(std::span<const uint64_t> samples, std::byte* into, const Label& label) {
  for (const uint64_t sample : samples) {
    const int64_t of_sample = label(sample);
    std::memcpy(into, &of_sample, sizeof(of_sample));
    into += sizeof(of_sample);
  }
}

// Implements Select: resolves the requests, in order, against dataset.fields().
absl::StatusOr<Selection> SelectFrom(const Dataset& dataset,
                                     std::span<const FieldRequest> requests);

// Whether the tensor with that number is a mask.
inline bool IsMask(const Selection& selection, size_t i) {
  return i < selection.targets.size() && selection.targets[i].kind == base::TargetKind::kMask;
}

// Sets the size of masks, which is that of the image's row. SelectFrom leaves it open.
void SetMaskSize(uint32_t height, uint32_t width, Selection& selection);

}  // namespace penstock::source
