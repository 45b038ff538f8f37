#include "server/doorway/poller.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace penstock::doorway {

absl::StatusOr<Poller> Poller::Make() {
  posix::Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return base::ErrnoStatus(errno, "making an epoll set");
  return Poller(std::move(epoll));
}

absl::Status Poller::Watch(const posix::Fd& fd, uint64_t token) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = token}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) {
    return base::ErrnoStatus(errno, "watching a descriptor");
  }
  return absl::OkStatus();
}

void Poller::Forget(const posix::Fd& fd) {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd.get(), nullptr);
}

std::vector<uint64_t> Poller::Wait(base::Duration timeout) {
  constexpr int64_t kLongestMs = 60'000;
  const int64_t timeout_ms = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  epoll_event events[64];
  const int count = ::epoll_wait(epoll_.get(), events, std::size(events),
                                 static_cast<int>(std::clamp<int64_t>(timeout_ms, 0, kLongestMs)));
  std::vector<uint64_t> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(uint64_t{events[i].data.u64});  // packed
  return tokens;
}

}  // namespace penstock::doorway
