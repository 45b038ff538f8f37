#include "server/rpc/transport/relay.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "common/telemetry/log.h"
#include "server/rpc/transport/origin.h"

namespace penstock::rpc {
namespace {

// Kernel buffer per direction; holds the next pieces of a message.
constexpr int kKernelBytes = 32 << 10;
constexpr base::Duration kSayCutOffEvery = std::chrono::seconds(1);
constexpr base::Duration kLastWords = std::chrono::milliseconds(300);
constexpr int kLastWordsPauseMs = 10;

// An epoll token: the connection's id and a side bit; 0 is the eventfd.
constexpr uint64_t ClientToken(uint64_t id) { return id << 1; }
constexpr uint64_t GrpcToken(uint64_t id) { return id << 1 | 1; }

void KeepLittle(const posix::Fd& socket) {
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kKernelBytes, sizeof(kKernelBytes));
}

// Binds a socket to an abstract name, so that its peer sees that name.
absl::Status Name(const posix::Fd& socket, const Origin& origin) {
  for (int tries = 0; tries < 8; ++tries) {
    uint64_t random = 0;
    if (::getrandom(&random, sizeof(random), 0) != sizeof(random))
      return base::ErrnoStatus(errno, "getrandom for a connection's name");
    const std::string name = OriginName(origin, random);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    // A leading NUL byte means abstract.
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0)
      return absl::OkStatus();
    if (errno != EADDRINUSE) return base::ErrnoStatus(errno, "naming a connection");
  }
  return absl::UnavailableError("no name for a connection is free");
}

// Changes the epoll events for `socket` from `known` to `events`. If that is 0, removes the socket
// from the set unless it `stays`.
void Watch(const posix::Fd& epoll, const posix::Fd& socket, uint64_t token, uint32_t events,
           uint32_t& known, bool stays) {
  if (events == known) return;
  epoll_event event{.events = events, .data = {.u64 = token}};
  const bool was_in = stays || known != 0, shall_be_in = stays || events != 0;
  const int operation = !was_in ? EPOLL_CTL_ADD : shall_be_in ? EPOLL_CTL_MOD : EPOLL_CTL_DEL;
  ::epoll_ctl(epoll.get(), operation, socket.get(), &event);
  known = events;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Relay>> Relay::Start(Options options) {
  posix::Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return base::ErrnoStatus(errno, "making an epoll set");
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd event, posix::MakeEvent());
  epoll_event wanted{.events = EPOLLIN, .data = {.u64 = 0}};
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, event.get(), &wanted) != 0)
    return base::ErrnoStatus(errno, "watching an event");
  std::unique_ptr<Relay> relay(new Relay(std::move(options), std::move(epoll), std::move(event)));
  relay->thread_ = std::thread([it = relay.get()] { it->Run(); });
  return relay;
}

Relay::~Relay() {
  stopping_.store(true);
  posix::NotifyEvent(event_);
  if (thread_.joinable()) thread_.join();
}

absl::StatusOr<posix::Fd> Relay::Take(posix::ForeignFd client, const Origin& origin,
                                      std::shared_ptr<const void> place, Contents contents) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return base::ErrnoStatus(errno, "making a connection's other end");
  posix::Fd ours(ends[0]), for_grpc(ends[1]);
  PENSTOCK_RETURN_IF_ERROR(Name(ours, origin));
  KeepLittle(*client);
  KeepLittle(ours);
  KeepLittle(for_grpc);
  {
    base::MutexLock lock(mutex_);
    arrivals_.push_back({std::move(client), std::move(ours), origin, std::move(place), contents});
  }
  posix::NotifyEvent(event_);
  return for_grpc;
}

void Relay::Run() {
  ::pthread_setname_np(::pthread_self(), "rpc-relay");
  while (!stopping_.load()) Turn(WaitMs());
  // gRPC has sent its last data.
  const base::TimePoint deadline = base::Now() + kLastWords;
  while (!connections_.empty() && base::Now() < deadline) Turn(kLastWordsPauseMs);
  for (auto& [id, connection] : connections_)
    ::shutdown(connection.relayed->client().get(), SHUT_RDWR);
  connections_.clear();
}

void Relay::Turn(int wait_ms) {
  epoll_event events[64];
  const int count = ::epoll_wait(epoll_.get(), events, std::size(events), wait_ms);
  for (int i = 0; i < count; ++i) Serve(events[i].data.u64, events[i].events);
  MoveThoseDue();
}

void Relay::Serve(uint64_t token, uint32_t events) {
  if (token == 0) return TakeArrivals();
  const bool of_client = (token & 1) == 0;
  Move(token >> 1, of_client && (events & (EPOLLHUP | EPOLLERR)) != 0);
}

void Relay::TakeArrivals() {
  if (!stopping_.load()) posix::Drain(event_);
  std::vector<Arrival> arrivals;
  {
    base::MutexLock lock(mutex_);
    arrivals.swap(arrivals_);
  }
  for (Arrival& arrival : arrivals) Add(std::move(arrival));
}

void Relay::Add(Arrival arrival) {
  const uint64_t id = ++last_id_;
  const bool sealed = arrival.contents == Contents::kSealed;
  Connection connection{
      .origin = arrival.origin,
      .place = std::move(arrival.place),
      .relayed = std::make_unique<Relayed>(std::move(arrival.client), std::move(arrival.grpc),
                                           TrafficLimits{.message_bytes = options_.message_bytes},
                                           sealed ? nullptr : TrafficOf(arrival.origin.user))};
  epoll_event event{.events = 0, .data = {.u64 = ClientToken(id)}};
  const int client = connection.relayed->client().get();
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, client, &event) != 0) return;
  Settle(id, connections_.emplace(id, std::move(connection)).first->second);
}

std::shared_ptr<UserTraffic> Relay::TrafficOf(uint32_t user) {
  std::erase_if(users_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<UserTraffic>& known = users_[user];
  std::shared_ptr<UserTraffic> traffic = known.lock();  // shared by the user's connections
  if (traffic == nullptr) known = traffic = std::make_shared<UserTraffic>();
  return traffic;
}

int Relay::WaitMs() const {
  if (again_.empty()) return -1;
  const auto wait =
      std::chrono::ceil<std::chrono::milliseconds>(again_.begin()->first - base::Now());
  return static_cast<int>(std::clamp<int64_t>(wait.count(), 0, 60'000));
}

void Relay::MoveThoseDue() {
  const base::TimePoint now = base::Now();
  std::vector<uint64_t> due;
  for (const auto& [when, id] : again_) {
    if (when > now) break;
    due.push_back(id);
  }
  for (const uint64_t id : due) Move(id, false);
}

void Relay::Move(uint64_t id, bool hung_up) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;  // it ended in this round
  const absl::Status moved = found->second.relayed->Move(base::Now(), hung_up);
  SayUntaken(found->second);
  if (!moved.ok()) return End(id, moved);
  Settle(id, found->second);
}

void Relay::SayUntaken(Connection& connection) {
  for (const UntakenMessage& message : connection.relayed->TakeUntaken())
    if (options_.on_untaken) options_.on_untaken(connection.origin, message);
}

// Updates what the connection waits for.
void Relay::Settle(uint64_t id, Connection& connection) {
  const Relayed& relayed = *connection.relayed;
  Watch(epoll_, relayed.client(), ClientToken(id), relayed.ClientEvents(), connection.client_events,
        true);
  Watch(epoll_, relayed.grpc(), GrpcToken(id), relayed.GrpcEvents(), connection.grpc_events, false);
  if (connection.again == relayed.again()) return;
  if (connection.again) again_.erase({*connection.again, id});
  connection.again = relayed.again();
  if (connection.again) again_.emplace(*connection.again, id);
}

void Relay::End(uint64_t id, const absl::Status& why) {
  const auto found = connections_.find(id);
  Connection& connection = found->second;
  if (!absl::IsCancelled(why)) SayCutOff(connection.origin, why);
  if (connection.again) again_.erase({*connection.again, id});
  // Ends the connection even if other processes inherited the client's descriptor.
  ::shutdown(connection.relayed->client().get(), SHUT_RDWR);
  connections_.erase(found);
}

std::map<std::string, uint64_t> Relay::cut_off() const {
  std::map<std::string, uint64_t> counts;
  for (size_t i = 0; i < kCutOffs.size(); ++i) counts[std::string(kCutOffs[i])] = cut_off_[i];
  return counts;
}

void Relay::SayCutOff(const Origin& origin, const absl::Status& why) {
  if (const size_t place = PlaceOfCutOff(why); place < cut_off_.size()) ++cut_off_[place];
  ++unsaid_;
  const base::TimePoint now = base::Now();
  if (now - said_ < kSayCutOffEvery) return;
  said_ = now;
  PENSTOCK_LOG(kWarning, "rpc_connection_cut_off", {"cut_off", std::exchange(unsaid_, 0)},
               {"user", origin.user}, {"pid", origin.pid}, {"why", why.message()});
}

}  // namespace penstock::rpc
