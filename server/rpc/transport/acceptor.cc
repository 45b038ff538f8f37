#include "server/rpc/transport/acceptor.h"

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

constexpr int kPauseMs = 100;  // after running out of descriptors
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
    : listener_(posix::MakeForeign(std::move(listener))),
      epoll_(std::move(epoll)),
      stop_(std::move(stop)),
      limits_(limits),
      owner_(::geteuid()),
      hand_over_(std::move(hand_over)),
      places_(std::make_shared<Places>()) {
  places_->taken = base::Shares(limits.connections, limits.kept);
}

Acceptor::~Acceptor() {
  posix::NotifyEvent(stop_);
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
  AcceptAll();
  return true;
}

void Acceptor::AcceptAll() {
  for (;;) {
    auto connection = posix::Accept(*listener_);
    if (!connection.ok()) {
      PENSTOCK_LOG(kWarning, "rpc_accept_failed", {"why", connection.status().message()},
                   {"remedy", "raise the limit of open files (LimitNOFILE)"});
      return SetListening(false);
    }
    if (*connection == nullptr) return;
    Admit(*std::move(connection));
  }
}

void Acceptor::Admit(posix::ForeignFd connection) {
  const auto peer = posix::PeerCredentials(*connection);
  if (!peer.ok()) return;
  const bool privileged =
      limits_.in_charge == InCharge::kOwner && (peer->uid == 0 || peer->uid == owner_);
  // The kernel assigns the lowest free number.
  if (!privileged && static_cast<uint64_t>(connection->get()) >= limits_.descriptors)
    return Refuse(peer->uid, "raise the limit of open files (LimitNOFILE)");
  std::shared_ptr<const void> place = PlaceFor(peer->uid, privileged);
  if (place == nullptr)
    return Refuse(peer->uid, "close clients that are not used, or raise server.max_connections");
  hand_over_(std::move(connection), *peer, std::move(place));
}

std::shared_ptr<const void> Acceptor::PlaceFor(uint32_t user, bool privileged) {
  const std::shared_ptr<Places> places = places_;
  base::MutexLock lock(places->mutex);
  if (!places->taken.CanTake(user, privileged)) return nullptr;
  places->taken.Add(user);
  return std::shared_ptr<const void>(places.get(), [places, user](const void*) {
    base::MutexLock lock(places->mutex);
    places->taken.Remove(user);
  });
}

uint32_t Acceptor::connections() const {
  base::MutexLock lock(places_->mutex);
  return static_cast<uint32_t>(places_->taken.held());
}

void Acceptor::Refuse(uint32_t user, const char* remedy) {
  ++refused_;
  ++unsaid_;
  const base::TimePoint now = base::Now();
  if (now - refusal_said_ < kSayEvery) return;
  refusal_said_ = now;
  PENSTOCK_LOG(kWarning, "rpc_connection_refused", {"refused", std::exchange(unsaid_, 0)},
               {"user", user}, {"reason", "limit"}, {"connections", connections()},
               {"remedy", remedy});
}

// The listener stays readable while descriptors are scarce. To avoid spinning, don't poll it for a
// while.
void Acceptor::SetListening(bool listening) {
  if (listening) {
    listening_ = Watch(epoll_, listener_->get(), EPOLLIN).ok();
  } else {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_->get(), nullptr);
    listening_ = false;
  }
}

}  // namespace penstock::rpc
