#include "server/rpc/transport/message_sizes.h"

#include <algorithm>

namespace penstock::rpc {

std::optional<uint32_t> MessageSizes::Take(std::span<const std::byte> data, uint32_t most) {
  if (too_large_) return std::nullopt;
  while (!data.empty()) {
    const size_t of_message = std::min<size_t>(message_left_, data.size());
    message_left_ -= static_cast<uint32_t>(of_message);
    data = data.subspan(of_message);
    if (data.empty()) return std::nullopt;
    if (prefix_have_ > 0) size_ = size_ << 8 | std::to_integer<uint32_t>(data.front());
    data = data.subspan(1);
    if (++prefix_have_ < kPrefixBytes) continue;
    too_large_ = size_ > most;
    if (too_large_) return size_;
    message_left_ = size_;
    prefix_have_ = 0;
  }
  return std::nullopt;
}

}  // namespace penstock::rpc
