#include "server/rpc/remote/operators_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "common/posix/socket.h"
#include "common/telemetry/log.h"

namespace penstock::rpc {
namespace {

constexpr uid_t kNobody = 65534;  // no user of this machine stands behind these connections
constexpr base::Duration kPause = std::chrono::milliseconds(100);  // without descriptors

struct TcpPeer {
  std::string text = "an unknown address";  // 10.0.0.3:51234, [fd00::3]:51234
  uint32_t host = 0;                        // the same for all connections of an address
};

TcpPeer PeerAt(const posix::Fd& socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  TcpPeer peer;
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return peer;
  char text[INET6_ADDRSTRLEN] = {};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text));
    peer = {.text = absl::StrCat(text, ":", ntohs(v4.sin_port)), .host = v4.sin_addr.s_addr};
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text));
    // The last words of an IPv4 address in IPv6 are its own. Hosts of a network that collide share
    // their part of the connections.
    uint32_t words[4];
    std::memcpy(words, &v6.sin6_addr, sizeof(words));
    peer = {.text = absl::StrCat("[", text, "]:", ntohs(v6.sin6_port)),
            .host = words[1] * 31 + words[3]};
  }
  return peer;
}

// A peer that has vanished is noticed within a minute and a half.
void SetUp(const posix::Fd& socket) {
  const auto set = [&](int level, int name, int value) {
    ::setsockopt(socket.get(), level, name, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

int Milliseconds(base::Duration wait) {
  return static_cast<int>(
      std::clamp<int64_t>(std::chrono::ceil<std::chrono::milliseconds>(wait).count(), 0, 60'000));
}

}  // namespace

absl::StatusOr<std::unique_ptr<OperatorsPort>> OperatorsPort::Start(posix::Fd listener,
                                                                    const Options& options,
                                                                    Callers& callers, Relay& relay,
                                                                    MakeHalf make_half) {
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd stop, posix::MakeEvent());
  std::unique_ptr<OperatorsPort> port(new OperatorsPort(
      std::move(listener), std::move(stop), options, callers, relay, std::move(make_half)));
  port->files_.HaveChanged();
  PENSTOCK_RETURN_IF_ERROR(port->Renew());
  port->thread_ = std::thread([it = port.get()] { it->Run(); });
  return port;
}

OperatorsPort::OperatorsPort(posix::Fd listener, posix::Fd stop, const Options& options,
                             Callers& callers, Relay& relay, MakeHalf make_half)
    : listener_(std::move(listener)),
      stop_(std::move(stop)),
      options_(options),
      callers_(callers),
      relay_(relay),
      make_half_(std::move(make_half)),
      places_(std::make_shared<OpenPlaces>()),
      files_(options.paths),
      accepts_(options.accepts) {
  base::MutexLock lock(places_->mutex);
  places_->taken = base::Shares(options.connections);
}

OperatorsPort::~OperatorsPort() {
  posix::NotifyEvent(stop_);
  if (thread_.joinable()) thread_.join();
  std::shared_ptr<Half> last;
  {
    base::MutexLock lock(mutex_);
    last = std::exchange(half_, nullptr);
  }
  if (last != nullptr) last->End(options_.end_within);
}

void OperatorsPort::SetServing(bool serving) {
  base::MutexLock lock(mutex_);
  serving_ = serving;
  if (half_ != nullptr) half_->SetServing(serving);
}

// Serves with the files as they are now, and ends what was made with the old ones.
absl::Status OperatorsPort::Renew() {
  PENSTOCK_ASSIGN_OR_RETURN(const TlsTexts texts, files_.Read());
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<Half> next, make_half_(texts));
  std::shared_ptr<Half> last;
  {
    base::MutexLock lock(mutex_);
    next->SetServing(serving_);
    last = std::exchange(half_, std::move(next));
  }
  if (last != nullptr) last->End(options_.end_within);
  return absl::OkStatus();
}

void OperatorsPort::LookAtFiles(base::TimePoint now) {
  if (now - looked_ < options_.look_every) return;
  looked_ = now;
  if (!files_.HaveChanged()) return;
  if (const absl::Status renewed = Renew(); renewed.ok()) {
    PENSTOCK_LOG(kInfo, "operators_port_renewed", {"certificate", options_.paths.certificate});
  } else {
    PENSTOCK_LOG(kError, "operators_port_not_renewed", {"why", renewed.message()},
                 {"served_with", "the files as they were before"});
  }
}

void OperatorsPort::Run() {
  ::pthread_setname_np(::pthread_self(), "rpc-remote");
  for (base::TimePoint now = base::Now(); Wait(now >= accept_again_, now); now = base::Now()) {
    now = base::Now();
    LookAtFiles(now);
    if (now >= accept_again_) accept_again_ = now + AcceptAll(now);
  }
}

bool OperatorsPort::Wait(bool accepting, base::TimePoint now) {
  const base::TimePoint look = looked_ + options_.look_every;
  const base::TimePoint until = accepting ? look : std::min(look, accept_again_);
  pollfd events[] = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                     {.fd = listener_.get(), .events = POLLIN, .revents = 0}};
  ::poll(events, accepting ? 2 : 1, Milliseconds(until - now));
  return events[0].revents == 0;
}

base::Duration OperatorsPort::AcceptAll(base::TimePoint now) {
  for (;;) {
    if (const base::Duration wait = accepts_.Wait(now); wait > base::Duration::zero()) return wait;
    auto connection = posix::Accept(listener_);
    if (!connection.ok()) {
      PENSTOCK_LOG(kWarning, "rpc_accept_failed", {"why", connection.status().message()},
                   {"remedy", "raise the limit of open files (LimitNOFILE)"});
      return kPause;
    }
    if (*connection == nullptr) return base::Duration::zero();
    accepts_.TryTake(now);
    Admit(*std::move(connection));
  }
}

void OperatorsPort::Admit(posix::ForeignFd connection) {
  SetUp(*connection);
  const TcpPeer peer = PeerAt(*connection);
  std::shared_ptr<const void> place = PlaceFor(peer.host);
  if (place == nullptr) {
    ++refused_;
    PENSTOCK_LOG(kWarning, "rpc_connection_refused", {"from", peer.text},
                 {"refused", refused_.load()}, {"reason", "limit"});
    return;
  }
  std::shared_ptr<Half> half;
  {
    base::MutexLock lock(mutex_);
    half = half_;
  }
  const auto known = std::make_shared<Callers::Entry>(callers_, std::move(place));
  absl::StatusOr<posix::Fd> end = relay_.Take(std::move(connection), {.user = kNobody, .pid = 0},
                                              known, Relay::Contents::kSealed);
  if (!end.ok()) {
    PENSTOCK_LOG(kWarning, "rpc_connection_lost", {"from", peer.text},
                 {"why", end.status().message()});
    return;
  }
  known->Is(PeerOf(*end), {.uid = kNobody, .gid = kNobody, .is_operator = true, .from = peer.text});
  half->Take(*std::move(end));
}

std::shared_ptr<const void> OperatorsPort::PlaceFor(uint32_t address) {
  const std::shared_ptr<OpenPlaces> places = places_;
  base::MutexLock lock(places->mutex);
  if (!places->taken.CanTake(address, false)) return nullptr;
  places->taken.Add(address);
  return std::shared_ptr<const void>(places.get(), [places, address](const void*) {
    base::MutexLock lock(places->mutex);
    places->taken.Remove(address);
  });
}

}  // namespace penstock::rpc
