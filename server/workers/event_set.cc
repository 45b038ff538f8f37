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
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd.get()}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) == 0)
    return Watch(epoll_.get(), fd.get());
  return base::ErrnoStatus(errno, "watching a worker");
}

// Closing the descriptor isn't enough, because the worker process has another one for the same
// event.
EventSet::Watch::~Watch() {
  if (set_ >= 0) PENSTOCK_CHECK(::epoll_ctl(set_, EPOLL_CTL_DEL, fd_, nullptr) == 0);
}

}  // namespace penstock::workers
