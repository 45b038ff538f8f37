#include "server/rpc/transport/frames.h"

#include <algorithm>
#include <cstring>

namespace penstock::rpc {

std::optional<Frame> FrameAt(std::span<const std::byte> bytes) {
  if (bytes.size() < kFrameHeaderBytes) return std::nullopt;
  const auto byte = [&](size_t at) { return std::to_integer<uint32_t>(bytes[at]); };
  return Frame{.length = byte(0) << 16 | byte(1) << 8 | byte(2),
               .type = static_cast<uint8_t>(byte(3)),
               .flags = static_cast<uint8_t>(byte(4)),
               .stream = (byte(5) & 0x7F) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8)};
}

bool IsPreface(std::span<const std::byte> bytes) {
  static constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  static_assert(sizeof(kPreface) - 1 == kPrefaceBytes);
  return std::memcmp(bytes.data(), kPreface, std::min(bytes.size(), kPrefaceBytes)) == 0;
}

}  // namespace penstock::rpc
