// Reads the bytes of a file that is not on this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/status.h"

namespace penstock::source {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `into` from the offset; may wait for a network. **Errors**: Unavailable if the bytes
  // cannot be had now; DataLoss if they can never be had, because the file has changed, or ends
  // first; PermissionDenied, NotFound.
  virtual absl::Status Read(uint64_t offset, std::span<std::byte> into) const = 0;
};

}  // namespace penstock::source
