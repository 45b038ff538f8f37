// Addresses to listen on, as people write them.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace penstock::posix {

struct TcpAddress {
  std::string host;  // 127.0.0.1 or ::1, never a name
  uint16_t port = 0;
  bool v6 = false;
  // As it was written: 127.0.0.1:7741, [::1]:7741.
  std::string ToString() const;
};

// A number, not a name, because what a name means may change under a running daemon.
// InvalidArgument says what was got and what was wanted.
absl::StatusOr<TcpAddress> ParseTcpAddress(const std::string& text);

}  // namespace penstock::posix
