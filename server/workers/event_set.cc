#include "server/workers/event_set.h"

#include <sys/epoll.h>

#include <cerrno>

#include "common/base/check.h"

namespace penstock::workers {

absl::Status EventSet::Open() {
  epoll_ = posix::Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (epoll_.valid()) return absl::OkStatus();
  return base::ErrnoStatus(errno, "making the supervisor's epoll");
}

absl::StatusOr<EventSet::Watch> EventSet::Add(const posix::Fd& fd) {
  auto watched = std::make_unique<Watch::Watched>(Watch::Watched{.fd = fd.get()});
  epoll_event event{.events = EPOLLIN, .data = {.ptr = watched.get()}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) == 0)
    return Watch(epoll_.get(), std::move(watched));
  return base::ErrnoStatus(errno, "watching a worker");
}

// Of more descriptors than one call can return, the kernel returns the others the next time.
void EventSet::Look() {
  constexpr int kMost = 256;
  epoll_event events[kMost];
  int count;
  do {
    count = ::epoll_wait(epoll_.get(), events, kMost, 0);
  } while (count < 0 && errno == EINTR);
  for (int i = 0; i < count; ++i) static_cast<Watch::Watched*>(events[i].data.ptr)->ready = true;
}

// Closing the descriptor isn't enough, because the worker process has another one for the same
// event.
EventSet::Watch::~Watch() {
  if (watched_ == nullptr) return;
  PENSTOCK_CHECK(::epoll_ctl(set_, EPOLL_CTL_DEL, watched_->fd, nullptr) == 0);
}

}  // namespace penstock::workers
