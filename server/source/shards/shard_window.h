// Small pieces of a shard, which often lie close together: what is read for one is kept for the
// next. One thread.
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

  // Valid until the next call. The piece lies within the file. Errors: ReadExactly's.
  absl::StatusOr<std::span<const std::byte>> Read(uint64_t offset, uint64_t bytes);

 private:
  const posix::Fd& file_;  // the caller's, like the path
  const std::string& path_;
  const uint64_t file_bytes_;
  uint64_t begin_ = 0, held_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace penstock::source
