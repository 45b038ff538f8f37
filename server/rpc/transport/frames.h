// Parses HTTP/2 frames (RFC 9113, section 4) as far as needed to pass them on: start, length and
// type. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace penstock::rpc {

inline constexpr size_t kPrefaceBytes = 24;  // sent by a client before its first frame
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
  uint32_t length = 0;  // without the header
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;

  bool is_ack() const { return (flags & 0x1) != 0; }       // for SETTINGS and PING
  bool ends_stream() const { return (flags & 0x1) != 0; }  // for DATA and HEADERS
  bool ends_headers() const { return (flags & 0x4) != 0; }
  bool is_padded() const { return (flags & 0x8) != 0; }  // for DATA and HEADERS
};

// The header at the front of `bytes`; nullopt if there are fewer than nine bytes.
std::optional<Frame> FrameAt(std::span<const std::byte> bytes);

// Whether `bytes` are the beginning of a client's preface, or the preface and more.
bool IsPreface(std::span<const std::byte> bytes);

}  // namespace penstock::rpc
