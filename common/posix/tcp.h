// TCP addresses to listen on, as people write them.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace penstock::posix {

struct TcpAddress {
  std::string host;  // 127.0.0.1 or ::1, never a name
  uint16_t port = 0;
  bool v6 = false;
  // The text that was parsed: 127.0.0.1:7741, [::1]:7741.
  std::string ToString() const;
};

// Accepts a numeric address only, because a name may resolve differently while the daemon runs.
// **Errors**: InvalidArgument quotes the text and gives examples.
absl::StatusOr<TcpAddress> ParseTcpAddress(const std::string& text);

}  // namespace penstock::posix
