// A dataset: which samples there are, and the means to get them. Immutable once opened; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/fault.h"
#include "common/base/status.h"

namespace penstock::source {

// How samples are stored, and so who fills a row with one.
enum class Storage {
  kEncoded,  // as files of codecs: a reader brings the bytes, a worker decodes them
  kRows,     // as they are: rows are copied
  kNothing,  // not at all: whoever consumes the rows makes them
};

// What a row that needs no decoding is: uint8, in the order height, width, channels.
struct RowShape {
  uint32_t height = 0, width = 0, channels = 0;

  uint64_t bytes() const { return uint64_t{height} * width * channels; }
  bool operator==(const RowShape&) const = default;
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual absl::string_view kind() const = 0;  // "folder", "idx", …: for people
  virtual uint64_t samples() const = 0;        // ≥ 1
  virtual uint64_t digest() const = 0;         // of the manifest: part of a feed's fingerprint
  virtual const std::vector<std::string>& classes() const = 0;
  virtual int64_t label(uint64_t sample) const = 0;
  virtual std::string path(uint64_t sample) const = 0;  // for people: where the sample's bytes are

  virtual Storage storage() const { return Storage::kEncoded; }
  // Unless samples are encoded.
  virtual RowShape row_shape() const;
  // Of rows that their consumer makes: what of.
  virtual uint64_t row_seed() const { return 0; }

  // How large a sample's bytes are now, then the bytes themselves. One SampleReader serves one
  // thread.
  class Reader {
   public:
    virtual ~Reader() = default;
    // Opens the sample; its size in bytes. A status is the source's trouble (EIO, gone, time-out):
    // try again. A fault is the sample's own (empty, changed).
    struct Opened {
      uint64_t bytes = 0;
      base::Fault fault = base::Fault::kNone;
    };
    virtual absl::StatusOr<Opened> Open(uint64_t sample) = 0;
    // Reads the opened sample into `into`, which has exactly the size that Open gave.
    virtual absl::Status Read(std::span<std::byte> into) = 0;
  };
  // Of encoded samples.
  virtual std::unique_ptr<Reader> NewReader() const;

  // Of samples that are stored as rows: puts them one behind the other, row_shape().bytes() each. A
  // status is the source's trouble, and nothing is known of `into` then: try again.
  virtual absl::Status CopyRows(std::span<const uint64_t> samples, std::byte* into) const;
};

}  // namespace penstock::source
