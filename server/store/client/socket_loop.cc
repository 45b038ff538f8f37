#include "server/store/client/socket_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/base/check.h"

namespace penstock::store {
namespace {

constexpr size_t kEventsAtOnce = 64;

}  // namespace

SocketLoop::SocketLoop(const Curl& curl)
    : curl_(curl),
      multi_(curl.multi_init()),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  PENSTOCK_CHECK(multi_ != nullptr && epoll_.valid() && wake_.valid());
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake_.get()}};
  PENSTOCK_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) == 0);
  curl_.multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &SocketLoop::OnSocket);
  curl_.multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_.multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &SocketLoop::OnTimer);
  curl_.multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

SocketLoop::~SocketLoop() { curl_.multi_cleanup(multi_); }

int SocketLoop::OnSocket(CURL*, curl_socket_t socket, int what, void* self, void*) {
  static_cast<const SocketLoop*>(self)->Watch(socket, what);
  return 0;
}

int SocketLoop::OnTimer(CURLM*, long timeout_ms, void* self) {
  std::optional<base::TimePoint>& due = static_cast<SocketLoop*>(self)->due_;
  due.reset();
  if (timeout_ms >= 0) due = base::Now() + std::chrono::milliseconds(timeout_ms);
  return 0;
}

void SocketLoop::Watch(curl_socket_t socket, int what) const {
  epoll_event event{.events = 0, .data = {.fd = socket}};
  if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) event.events |= EPOLLIN;
  if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) event.events |= EPOLLOUT;
  if (what == CURL_POLL_REMOVE) {
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket, nullptr);  // it may be closed already
    return;
  }
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket, &event) == 0 || errno != ENOENT) return;
  // If there is no memory, the transfer's deadline ends it.
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event);
}

void SocketLoop::Run(base::Duration longest) {
  if (due_) longest = std::min(longest, std::max(base::Duration::zero(), *due_ - base::Now()));
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(longest);
  std::array<epoll_event, kEventsAtOnce> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(wait.count()));
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.fd == wake_.get()) {
      uint64_t times = 0;
      (void)!::read(wake_.get(), &times, sizeof times);
      continue;
    }
    // Of an error alone libcurl finds out by itself.
    Give(event.data.fd, ((event.events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                            ((event.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0));
  }
  if (due_ && base::Now() >= *due_) {
    due_.reset();
    Give(CURL_SOCKET_TIMEOUT, 0);
  }
}

void SocketLoop::Give(curl_socket_t socket, int events) const {
  int running = 0;
  curl_.multi_socket_action(multi_, socket, events, &running);
}

void SocketLoop::Wake() const {
  const uint64_t once = 1;
  (void)!::write(wake_.get(), &once, sizeof once);
}

}  // namespace penstock::store
