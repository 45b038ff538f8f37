// A dataset: a manifest and the means to read its samples. Immutable once opened; any thread.
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

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual uint64_t samples() const = 0;               // ≥ 1
  virtual uint64_t digest() const = 0;                // of the manifest: part of a feed's fingerprint
  virtual const std::vector<std::string>& classes() const = 0;
  virtual int64_t label(uint64_t sample) const = 0;
  virtual std::string path(uint64_t sample) const = 0;  // for people: where the sample's bytes are

  // How large a sample's bytes are now, then the bytes themselves. One SampleReader serves one thread.
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
  virtual std::unique_ptr<Reader> NewReader() const = 0;
};

}  // namespace penstock::source
