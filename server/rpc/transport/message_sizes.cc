#include "server/rpc/transport/message_sizes.h"

#include <algorithm>

namespace penstock::rpc {

std::optional<UntakenMessage> MessageSizes::Take(std::span<const std::byte> data, uint32_t most) {
  if (is_over_) return std::nullopt;
  while (!data.empty()) {
    const size_t of_message = std::min<size_t>(message_left_, data.size());
    message_left_ -= static_cast<uint32_t>(of_message);
    data = data.subspan(of_message);
    if (data.empty()) return std::nullopt;
    if (prefix_have_ == 0) is_packed_ = data.front() != std::byte{0};
    if (prefix_have_ > 0) size_ = size_ << 8 | std::to_integer<uint32_t>(data.front());
    data = data.subspan(1);
    if (++prefix_have_ < kPrefixBytes) continue;
    is_over_ = is_packed_ || size_ > most;
    if (is_over_) return UntakenMessage{.bytes = size_, .is_packed = is_packed_};
    message_left_ = size_;
    prefix_have_ = 0;
  }
  return std::nullopt;
}

}  // namespace penstock::rpc
