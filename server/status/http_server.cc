#include "server/status/http_server.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace penstock::status {
namespace {

constexpr std::chrono::milliseconds kPauseWithoutDescriptors(200);
constexpr std::chrono::milliseconds kAskedAgainAfter(20);  // of a pending page

bool IsPending(const HttpConnection& connection) {
  return connection.state() == HttpConnection::State::kAsked;
}

// A peer that waits for a pending page is not looked at.
pollfd ToPoll(const HttpConnection& connection) {
  const bool writes = connection.state() == HttpConnection::State::kWriting;
  return {.fd = IsPending(connection) ? -1 : connection.socket(),
          .events = static_cast<short>(writes ? POLLOUT : POLLIN),
          .revents = 0};
}

timespec ToTimespec(base::Duration duration) {
  const int64_t ns = std::max<int64_t>(duration.count(), 0);
  return {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(posix::Fd listener, Routes routes,
                                                              Options options) {
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd stop, posix::MakeEvent());
  std::unique_ptr<HttpServer> server(
      new HttpServer(std::move(listener), std::move(routes), options, std::move(stop)));
  server->thread_ = std::thread([raw = server.get()] { raw->Run(); });
  return server;
}

HttpServer::HttpServer(posix::Fd listener, Routes routes, Options options, posix::Fd stop)
    : listener_(std::move(listener)),
      routes_(std::move(routes)),
      options_(options),
      stop_(std::move(stop)),
      accepts_({.per_second = options.connections_per_second,
                .burst = options.connections_per_second}) {}

HttpServer::~HttpServer() {
  stopping_ = true;
  posix::NotifyEvent(stop_);
  thread_.join();
}

HttpCounts HttpServer::counts() const {
  return {.answered = answered_, .refused = refused_, .dropped = dropped_};
}

void HttpServer::Run() {
  ::pthread_setname_np(::pthread_self(), "metrics");
  std::vector<pollfd> polled;
  while (!stopping_) {
    const base::TimePoint now = clock_.Now();
    const bool accepting = now >= pause_until_ && accepts_.Wait(now).count() == 0;
    polled = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
              {.fd = accepting ? listener_.get() : -1, .events = POLLIN, .revents = 0}};
    for (const HttpConnection& connection : connections_) polled.push_back(ToPoll(connection));
    const timespec wait = ToTimespec(Wait(now, accepting));
    if (::ppoll(polled.data(), polled.size(), &wait, nullptr) < 0) continue;

    const bool asks_again = AsksAgain(clock_.Now());
    auto found = polled.begin() + 2;
    for (HttpConnection& connection : connections_)
      if ((found++)->revents != 0 || (asks_again && IsPending(connection))) Serve(connection);
    Forget(clock_.Now());
    while (accepting && !stopping_ && AcceptOne()) continue;
  }
}

// The time until the next deadline.
base::Duration HttpServer::Wait(base::TimePoint now, bool accepting) {
  base::Duration wait = std::chrono::seconds(60);
  if (!accepting) wait = std::max(accepts_.Wait(now), pause_until_ - now);
  for (const HttpConnection& connection : connections_) {
    wait = std::min(wait, connection.deadline() - now);
    if (IsPending(connection)) wait = std::min(wait, ask_again_at_ - now);
  }
  return wait;
}

// Whether pending pages are asked for; not more often during a flood.
bool HttpServer::AsksAgain(base::TimePoint now) {
  if (now < ask_again_at_) return false;
  ask_again_at_ = now + kAskedAgainAfter;
  return true;
}

// Accepts one connection if one is waiting and the limit allows it; returns whether it did.
bool HttpServer::AcceptOne() {
  const base::TimePoint now = clock_.Now();
  if (now < pause_until_ || accepts_.Wait(now).count() > 0) return false;
  posix::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.valid()) {
    const bool none_left =
        errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
    if (none_left) pause_until_ = now + kPauseWithoutDescriptors;
    return errno == ECONNABORTED || errno == EINTR;
  }
  accepts_.Take(now);
  if (connections_.size() >= options_.max_connections) EvictOldest();
  Serve(connections_.emplace_back(std::move(socket), options_.limits, now));
  Forget(now);
  return true;
}

// Drops a connection that has its response; else the oldest, because a genuine client sends its
// request long before it is the oldest.
void HttpServer::EvictOldest() {
  const auto answered =
      std::find_if(connections_.begin(), connections_.end(), [](const HttpConnection& connection) {
        return connection.state() == HttpConnection::State::kLeaving;
      });
  if (answered != connections_.end()) {
    connections_.erase(answered);
  } else {
    connections_.pop_front();
    ++dropped_;
  }
}

void HttpServer::Serve(HttpConnection& connection) {
  connection.Proceed(clock_.Now());
  if (connection.state() != HttpConnection::State::kAsked) return;
  HttpPage page = Find(connection.request());
  if (page.is_pending) return;
  const bool has_page = page.body != nullptr && page.verdict == HttpVerdict::kPage;
  ++(has_page ? answered_ : refused_);
  connection.Answer(std::move(page), clock_.Now());
}

HttpPage HttpServer::Find(const HttpRequest& request) const {
  if (request.verdict != HttpVerdict::kPage) return {};
  const auto route = routes_.find(request.path);
  return route == routes_.end() ? HttpPage{} : route->second(counts(), request);
}

void HttpServer::Forget(base::TimePoint now) {
  connections_.remove_if([&](HttpConnection& connection) {
    const bool answered = connection.state() == HttpConnection::State::kLeaving;
    if (connection.Expire(now) && !answered) ++dropped_;
    return connection.state() == HttpConnection::State::kDone;
  });
}

}  // namespace penstock::status
