// HTTP/2 frames (RFC 9113, section 4) as far as whoever passes them on has to know them: where one
// begins, how long it is, what kind it is. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace penstock::rpc {

inline constexpr size_t kPrefaceBytes = 24;  // what a client says before its first frame
inline constexpr size_t kFrameHeaderBytes = 9;

enum FrameType : uint8_t {
  kFrameData = 0,
  kFrameHeaders = 1,
  kFrameResetStream = 3,
  kFrameSettings = 4,
  kFramePing = 6,
  kFrameContinuation = 9,
};

struct Frame {
  uint32_t length = 0;  // of what follows the header
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;

  bool is_ack() const { return (flags & 0x1) != 0; }       // of SETTINGS and PING
  bool ends_stream() const { return (flags & 0x1) != 0; }  // of DATA and HEADERS
  bool ends_headers() const { return (flags & 0x4) != 0; }
};

// The header at the front of `bytes`; nothing: there are fewer than nine.
std::optional<Frame> FrameAt(std::span<const std::byte> bytes);

// Whether `bytes` begin as a client's preface does, as far as they go.
bool IsPreface(std::span<const std::byte> bytes);

}  // namespace penstock::rpc
