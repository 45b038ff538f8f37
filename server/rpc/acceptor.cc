#include "server/rpc/acceptor.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <iterator>
#include <utility>

#include "common/posix/socket.h"
#include "common/telemetry/log.h"

namespace penstock::rpc {
namespace {

constexpr int kPauseMs = 100;  // when descriptors are short
constexpr base::Duration kSayEvery = std::chrono::seconds(1);

absl::Status Watch(const posix::Fd& epoll, int fd, uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0) return absl::OkStatus();
  return base::ErrnoStatus(errno, "watching a socket");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Start(posix::Fd listener, const Limits& limits,
                                                          HandOver hand_over) {
  posix::Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return base::ErrnoStatus(errno, "making an epoll set");
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd stop, posix::MakeEvent());
  PENSTOCK_RETURN_IF_ERROR(Watch(epoll, stop.get(), EPOLLIN));
  std::unique_ptr<Acceptor> acceptor(new Acceptor(std::move(listener), std::move(epoll),
                                                  std::move(stop), limits, std::move(hand_over)));
  acceptor->SetListening(true);
  acceptor->thread_ = std::thread([it = acceptor.get()] { it->Run(); });
  return acceptor;
}

Acceptor::Acceptor(posix::Fd listener, posix::Fd epoll, posix::Fd stop, const Limits& limits,
                   HandOver hand_over)
    : listener_(std::move(listener)),
      epoll_(std::move(epoll)),
      stop_(std::move(stop)),
      limits_(limits),
      owner_(::geteuid()),
      hand_over_(std::move(hand_over)) {}

Acceptor::~Acceptor() {
  posix::Ring(stop_);
  if (thread_.joinable()) thread_.join();
}

void Acceptor::Run() {
  ::pthread_setname_np(::pthread_self(), "rpc-accept");
  for (;;) {
    epoll_event events[64];
    const int count =
        ::epoll_wait(epoll_.get(), events, std::size(events), listening_ ? -1 : kPauseMs);
    if (!listening_) SetListening(true);
    for (int i = 0; i < count; ++i) {
      if (!Serve(events[i].data.fd)) return;
    }
  }
}

bool Acceptor::Serve(int fd) {
  if (fd == stop_.get()) return false;
  if (fd == listener_.get()) {
    AcceptAll();
  } else {
    Ended(fd);
  }
  return true;
}

void Acceptor::AcceptAll() {
  for (;;) {
    auto connection = posix::Accept(listener_);
    if (!connection.ok()) {
      PENSTOCK_LOG(kWarning, "rpc_accept_failed", {"why", connection.status().message()},
                   {"remedy", "raise the limit of open files (LimitNOFILE)"});
      return SetListening(false);
    }
    if (!connection->has_value()) return;
    Admit(**std::move(connection));
  }
}

void Acceptor::Admit(posix::Fd connection) {
  const auto peer = posix::PeerCredentials(connection);
  if (!peer.ok()) return;
  if (!HasPlaceFor(peer->uid)) return Refuse(peer->uid);
  auto end = connection.Duplicate();
  if (!end.ok()) return;
  const int fd = end->get();
  // No event but the hang-up of both sides, which epoll always reports.
  if (!Watch(epoll_, fd, 0).ok()) return;
  ends_.emplace(fd, End{*std::move(end), peer->uid});
  ++users_[peer->uid];
  connections_.store(static_cast<uint32_t>(ends_.size()));
  hand_over_(std::move(connection));
}

// Root and the daemon's own user are who can put an end to a flood.
bool Acceptor::HasPlaceFor(uint32_t user) const {
  if (ends_.size() >= limits_.connections) return false;
  if (user == 0 || user == owner_) return true;
  const auto found = users_.find(user);
  return found == users_.end() || found->second < limits_.of_a_user;
}

void Acceptor::Refuse(uint32_t user) {
  ++refused_;
  const base::TimePoint now = base::Now();
  if (now - refusal_said_ < kSayEvery) return;
  refusal_said_ = now;
  PENSTOCK_LOG(kWarning, "rpc_connection_refused", {"refused", std::exchange(refused_, 0)},
               {"user", user}, {"connections", ends_.size()},
               {"remedy", "close clients that are not used, or raise server.max_connections"});
}

void Acceptor::Ended(int fd) {
  // Taken out by hand: the open file lives on in the hands of whoever got the first descriptor.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  const auto found = ends_.find(fd);
  if (found == ends_.end()) return;
  if (const auto user = users_.find(found->second.user); --user->second == 0) users_.erase(user);
  ends_.erase(found);
  connections_.store(static_cast<uint32_t>(ends_.size()));
}

// The listener stays readable while descriptors are short; not to spin, it is left alone for a
// while.
void Acceptor::SetListening(bool listening) {
  if (listening) {
    listening_ = Watch(epoll_, listener_.get(), EPOLLIN).ok();
  } else {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
    listening_ = false;
  }
}

}  // namespace penstock::rpc
