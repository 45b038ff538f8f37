// A read buffer for small pieces of a shard that often lie close together.
// **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "server/source/parse/parsers.h"

namespace penstock::source {

class ShardWindow {
 public:
  explicit ShardWindow(const ForeignFile& file) : file_(file) {}  // which must outlive it

  // Returns bytes that stay valid until the next call. **Requires**: the piece lies within the
  // file. **Errors**: those of ForeignFile::Read.
  absl::StatusOr<std::span<const std::byte>> Read(uint64_t offset, uint64_t bytes);

 private:
  const ForeignFile& file_;
  uint64_t begin_ = 0, held_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace penstock::source
