#include "client/src/maker/signals.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>

namespace penstock::client {

absl::Status WaitForAny(std::span<pollfd> entries, base::TimePoint deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - base::Now()).count();
  const int timeout = static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
  if (::poll(entries.data(), entries.size(), timeout) >= 0) return absl::OkStatus();
  for (pollfd& entry : entries) entry.revents = 0;
  return errno == EINTR ? absl::OkStatus() : base::ErrnoStatus(errno, "waiting for the daemon");
}

absl::Status ClearEvent(const posix::Fd& event) {
  uint64_t count = 0;
  ssize_t got;
  do {
    got = ::read(event.get(), &count, sizeof(count));
  } while (got < 0 && errno == EINTR);
  if (got > 0 || (got < 0 && errno == EAGAIN)) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the daemon's event cannot be read: got ", got, ", expected a notification"));
}

void WakeDaemon(const posix::Fd& event) {
  const uint64_t one = 1;
  ssize_t sent;
  do {
    sent = ::send(event.get(), &one, sizeof(one), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == ENOTSOCK) sent = ::write(event.get(), &one, sizeof(one));
  } while (sent < 0 && errno == EINTR);
}

}  // namespace penstock::client
