// Sends raw HTTP/2 frames, also invalid ones, one at a time over a Unix socket.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace penstock::testing {

inline std::string Http2Frame(uint8_t type, uint8_t flags, uint32_t stream,
                              std::string_view payload) {
  const auto size = static_cast<uint32_t>(payload.size());
  std::string frame;
  for (const uint32_t byte : {size >> 16, size >> 8, size, uint32_t{type}, uint32_t{flags},
                              stream >> 24, stream >> 16, stream >> 8, stream})
    frame += static_cast<char>(byte);
  return frame.append(payload);
}

// The first bytes that a client sends: the preface and an empty SETTINGS frame.
inline std::string Http2Preface() {
  return std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + Http2Frame(4, 0, 0, "");
}

inline std::string Http2Ping(bool ack = false) {
  return Http2Frame(6, ack ? 1 : 0, 0, std::string(8, 'p'));
}

// The headers of a gRPC call (HPACK without indexing or Huffman codes).
inline std::string GrpcHeaders(std::string_view method) {
  const auto text = [](std::string_view value) {
    return static_cast<char>(value.size()) + std::string(value);
  };
  return "\x83\x86\x04" + text(method) + "\x01" + text("localhost") + "\x0f\x10" +
         text("application/grpc") + std::string(1, '\0') + text("te") + text("trailers");
}

// Connects without blocking. Returns -1 if nobody accepts.
inline int ConnectRaw(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(name.sun_path, path.c_str(), sizeof name.sun_path - 1);
  if (connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0) return fd;
  close(fd);
  return -1;
}

}  // namespace penstock::testing
