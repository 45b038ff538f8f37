// A read buffer for small pieces of a shard that often lie close together.
// **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::source {

class ShardWindow {
 public:
  ShardWindow(const posix::Fd& file, const std::string& path, uint64_t file_bytes)
      : file_(file), path_(path), file_bytes_(file_bytes) {}

  // Returns bytes that stay valid until the next call. **Requires**: the piece lies within the
  // file. **Errors**: those of ReadExactly.
  absl::StatusOr<std::span<const std::byte>> Read(uint64_t offset, uint64_t bytes);

 private:
  const posix::Fd& file_;  // owned by the caller, as is the path
  const std::string& path_;
  const uint64_t file_bytes_;
  uint64_t begin_ = 0, held_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace penstock::source
