#include "server/source/shards/shard_window.h"

#include <algorithm>

#include "server/source/files/tree_file.h"

namespace penstock::source {
namespace {

constexpr uint64_t kWindow = 4096;  // holds a header, what precedes it, and small members

}  // namespace

absl::StatusOr<std::span<const std::byte>> ShardWindow::Read(uint64_t offset, uint64_t bytes) {
  if (offset < begin_ || offset + bytes > begin_ + held_) {
    buffer_.resize(std::max(bytes, kWindow));
    held_ = 0;
    const uint64_t more = std::min<uint64_t>(buffer_.size(), file_bytes_ - offset);
    PENSTOCK_RETURN_IF_ERROR(ReadExactly(file_, path_, offset, std::span(buffer_).first(more)));
    begin_ = offset;
    held_ = more;
  }
  return std::span(buffer_).subspan(offset - begin_, bytes);
}

}  // namespace penstock::source
