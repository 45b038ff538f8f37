#include "server/doorway/doorway.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/posix/foreign_fd.h"
#include "common/posix/limits.h"
#include "common/posix/socket.h"
#include "common/telemetry/log.h"
#include "server/doorway/address.h"
#include "server/doorway/admit.h"
#include "server/doorway/guests.h"
#include "server/doorway/handshake.h"
#include "server/doorway/makers.h"
#include "server/doorway/outbox.h"
#include "server/doorway/peer_queue.h"
#include "server/doorway/poller.h"
#include "server/doorway/processes.h"
#include "server/doorway/strangers.h"

namespace penstock::doorway {
namespace {

constexpr size_t kMaxStrangers = 64;  // connections that have not sent Hello yet
constexpr int kAcceptsAtOnce = 16;    // after these, other events get a turn
constexpr base::Duration kAcceptPause = std::chrono::milliseconds(100);  // when out of descriptors
constexpr base::Duration kSettleEvery = std::chrono::milliseconds(100);
constexpr base::Duration kSayRefusalsEvery = std::chrono::seconds(1);
constexpr base::Duration kNoWait{0};

// The kind of a poller token, in its two lowest bits; the id is above them.
enum class Source : uint64_t { kListener = 0, kWake = 1, kSocket = 2, kProcess = 3 };

constexpr uint64_t TokenOf(Source source, uint64_t id = 0) {
  return id << 2 | static_cast<uint64_t>(source);
}

template <typename Wire>
std::span<const std::byte> BytesOf(const Wire& message) {
  return std::as_bytes(std::span(&message, 1));
}

class EpollDoorway final : public Doorway {
 public:
  EpollDoorway(const DoorwayOptions& options, Visitor& visitor, posix::Fd listener, posix::Fd wake,
               posix::Fd spare, Poller poller)
      : options_(options),
        visitor_(visitor),
        wake_(std::move(wake)),
        outbox_({.descriptors = options.max_undelivered}, [this] { posix::NotifyEvent(wake_); }),
        listener_(posix::MakeForeign(std::move(listener))),
        spare_(std::move(spare)),
        poller_(std::move(poller)),
        guests_(options.max_peers,
                options.owner_in_charge ? std::optional<uint32_t>(::geteuid()) : std::nullopt),
        makers_(options.makers) {}

  absl::Status Begin() {
    PENSTOCK_RETURN_IF_ERROR(poller_.Watch(*listener_, TokenOf(Source::kListener)));
    PENSTOCK_RETURN_IF_ERROR(poller_.Watch(wake_, TokenOf(Source::kWake)));
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  }

  ~EpollDoorway() override {
    stopping_.store(true);
    posix::NotifyEvent(wake_);
    if (thread_.joinable()) thread_.join();
    ::unlink(options_.path.c_str());
  }

  absl::Status Send(PeerId peer, const void* message, size_t bytes,
                    const std::vector<int>& fds) override {
    return outbox_.Send(peer, {static_cast<const std::byte*>(message), bytes}, fds);
  }

  void Forget(PeerId peer) override { QueueIn(to_forget_, peer); }
  void Close(PeerId peer) override { QueueIn(to_close_, peer); }
  Counts counts() const override { return {no_place_, bad_handshake_, unread_, spoke_again_}; }

 private:
  void Run();
  void Serve(uint64_t token);
  void ServeSocket(uint64_t id);

  void AcceptAll();
  void TakeIn(SharedSocket socket);
  void EvictFor(uint32_t user);
  void PauseAccepting(const absl::Status& why);
  base::Duration DoWhatIsDue();  // returns the time until the next task
  void DisconnectTheSlow();
  void QueueIn(PeerQueue& queue, PeerId peer) {
    queue.Add(peer);
    posix::NotifyEvent(wake_);
  }
  void CloseThoseAskedFor();
  void ForgetThoseAskedFor();

  void Greet(uint64_t id);
  absl::Status LetIn(uint64_t id, posix::Message message);
  absl::Status WatchProcess(const Peer& peer, posix::Fd pidfd);
  void Refuse(uint64_t id, const absl::Status& why);
  void SayRefusal(uint32_t user, const absl::Status& why);
  void Disconnect(PeerId peer);
  void OnGone(PeerId peer);
  void ReapIfGone(uint64_t process);

  const DoorwayOptions options_;
  Visitor& visitor_;
  base::SteadyClock clock_;
  const posix::Fd wake_;
  Outbox outbox_;
  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> no_place_ = 0, bad_handshake_ = 0, unread_ = 0, spoke_again_ = 0;
  PeerQueue to_forget_, to_close_;

  // Used only by the doorway's thread.
  const posix::ForeignFd listener_;  // foreign: closing it closes connections not yet accepted
  posix::Fd spare_;  // released to accept and refuse a client when no other descriptor is free
  Poller poller_;
  uint64_t last_id_ = 0;
  std::optional<base::TimePoint> accept_again_;
  Strangers strangers_{kMaxStrangers};
  Guests guests_;
  Makers makers_;
  std::map<PeerId, SharedSocket> peers_;
  Processes processes_;
  HandshakeReceiver handshakes_;
  uint64_t refused_ = 0;  // since the last log line
  base::TimePoint refusal_said_{};

  std::thread thread_;
};

// Runs at low priority: clients that connect can wait, feeds cannot.
void EpollDoorway::Run() {
  ::pthread_setname_np(::pthread_self(), "doorway");
  if (const absl::Status gave_way = posix::GiveWay(posix::Priority::kLow); !gave_way.ok())
    PENSTOCK_LOG(kWarning, "doorway_priority", {"why", gave_way.message()});
  for (;;) {
    const base::Duration wait = DoWhatIsDue();
    for (const uint64_t token : poller_.Wait(wait)) {
      Serve(token);
      if (stopping_.load()) return;
    }
  }
}

// The connection or process behind the token may have ended earlier in the same round.
void EpollDoorway::Serve(uint64_t token) {
  const uint64_t id = token >> 2;
  switch (static_cast<Source>(token & 3)) {
    case Source::kListener:
      return AcceptAll();
    case Source::kWake:
      posix::Drain(wake_);
      return;
    case Source::kSocket:
      return ServeSocket(id);
    case Source::kProcess:
      return ReapIfGone(id);
  }
}

void EpollDoorway::ServeSocket(uint64_t id) {
  if (strangers_.Contains(id)) return Greet(id);
  const auto found = peers_.find(PeerId(id));
  if (found == peers_.end()) return;
  const posix::LingerLimit limit;
  const auto message =
      posix::Receive(*found->second, shm::kMaxDoorwayBytes, kNoWait, posix::Descriptors::kDrop);
  if (absl::IsDeadlineExceeded(message.status())) return;  // nothing there after all
  if (!absl::IsUnavailable(message.status())) {
    ++spoke_again_;
    PENSTOCK_LOG(kWarning, "doorway_garbage", {"peer", id},
                 {"why", "the client sent a second message, but only one is allowed"});
  }
  Disconnect(PeerId(id));
}

void EpollDoorway::AcceptAll() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    auto socket = posix::Accept(*listener_);
    if (!socket.ok()) return PauseAccepting(socket.status());
    if (*socket == nullptr) return;
    TakeIn(*std::move(socket));
  }
}

void EpollDoorway::TakeIn(SharedSocket socket) {
  const auto peer = posix::PeerCredentials(*socket);
  if (!peer.ok()) return;
  EvictFor(peer->uid);
  const uint64_t id = ++last_id_;
  // the kernel assigns the lowest free number
  const auto number = static_cast<uint64_t>(socket->get());
  if (!poller_.Watch(*socket, TokenOf(Source::kSocket, id)).ok()) return;
  strangers_.Add(id, {.socket = std::move(socket),
                      .deadline = clock_.Now() + options_.handshake_timeout,
                      .user = peer->uid});
  if (number < options_.max_descriptor || guests_.privileged(peer->uid)) return;
  Refuse(id, absl::ResourceExhaustedError(
                 absl::StrCat("the daemon has nearly reached its limit of ", posix::MaxOpenFiles(),
                              " open files; raise LimitNOFILE in its unit (ulimit -n) ",
                              "or close unused clients")));
}

void EpollDoorway::EvictFor(uint32_t user) {
  const std::optional<uint64_t> displaced = strangers_.DisplacedBy(user);
  if (!displaced) return;
  const uint32_t whose = strangers_.at(*displaced).user;
  Refuse(*displaced, absl::ResourceExhaustedError(absl::StrCat(
                         "more than ", strangers_.ShareOf(user), " connections of user ", whose,
                         " have not sent Hello yet; try again")));
}

// The listener stays readable while descriptors are short. To avoid spinning, we ignore it for a
// while.
void EpollDoorway::PauseAccepting(const absl::Status& why) {
  spare_.Close();
  if (auto socket = posix::Accept(*listener_); socket.ok() && *socket != nullptr) {
    const absl::Status words = absl::ResourceExhaustedError(
        absl::StrCat("the daemon has reached its limit of ", posix::MaxOpenFiles(),
                     " open files; raise LimitNOFILE in its unit (ulimit -n) or close clients"));
    posix::Send(**socket, BytesOf(RefusedFor(words)), {}).IgnoreError();
  }
  if (auto spare = posix::MakeEvent(); spare.ok()) spare_ = *std::move(spare);
  PENSTOCK_LOG(kWarning, "doorway_accept_failed", {"why", why.message()},
               {"remedy", "raise the limit of open files (LimitNOFILE)"});
  poller_.Forget(*listener_);
  accept_again_ = clock_.Now() + kAcceptPause;
}

base::Duration EpollDoorway::DoWhatIsDue() {
  DisconnectTheSlow();
  CloseThoseAskedFor();
  ForgetThoseAskedFor();
  for (const PeerId settled : outbox_.Settle()) guests_.LeavePlace(settled);
  const base::TimePoint now = clock_.Now();
  base::TimePoint next = now + std::chrono::minutes(1);
  if (outbox_.settling()) next = now + kSettleEvery;
  if (accept_again_.has_value() && *accept_again_ <= now) {
    const bool watched = poller_.Watch(*listener_, TokenOf(Source::kListener)).ok();
    accept_again_ = watched ? std::nullopt : std::optional(now + kAcceptPause);
  }
  if (accept_again_.has_value()) next = std::min(next, *accept_again_);
  for (auto first = strangers_.first(); first; first = strangers_.first()) {
    if (const base::TimePoint deadline = strangers_.at(*first).deadline; deadline > now)
      return std::min(next, deadline) - now;
    Refuse(*first,
           absl::DeadlineExceededError("no Hello arrived in time; use Penstock's client library"));
  }
  return next - now;
}

void EpollDoorway::Greet(uint64_t id) {
  const Stranger& stranger = strangers_.at(id);
  auto message = handshakes_.Receive(*stranger.socket, stranger.user);
  if (absl::IsDeadlineExceeded(message.status())) return;  // nothing there after all
  const absl::Status admitted = message.ok() ? LetIn(id, *std::move(message)) : message.status();
  if (!admitted.ok()) Refuse(id, admitted);
}

absl::Status EpollDoorway::LetIn(uint64_t id, posix::Message message) {
  const Stranger& stranger = strangers_.at(id);
  PENSTOCK_ASSIGN_OR_RETURN(Entrant entrant,
                            Admit({guests_, makers_, visitor_}, PeerId(id), stranger.user,
                                  *stranger.socket, std::move(message)));
  const Peer& peer = entrant.peer;
  PENSTOCK_RETURN_IF_ERROR(WatchProcess(peer, std::move(entrant.pidfd)));

  const SharedSocket socket = strangers_.Remove(id).socket;
  guests_.Enter(peer.id, peer.uid);
  if (peer.role != Role::kClient) makers_.Enter(peer.id, peer.role, peer.maker.token);
  peers_.emplace(peer.id, socket);
  outbox_.Add(peer.id, socket, peer.uid);
  const shm::DoorwayWelcome welcome = WelcomeWith(peer.ticket, entrant.version);
  const auto greet = [&] { return posix::Send(*socket, BytesOf(welcome), {}).ok(); };
  const bool greet_first = peer.role != Role::kClient;
  const bool greeted_first = greet_first && greet();
  visitor_.OnArrived(peer);
  if (greet_first ? !greeted_first : !greet()) Disconnect(peer.id);
  return absl::OkStatus();
}

absl::Status EpollDoorway::WatchProcess(const Peer& peer, posix::Fd pidfd) {
  const Processes::Entry process = processes_.Add(peer.id, peer.pid, std::move(pidfd));
  if (!process.is_new) return absl::OkStatus();
  const absl::Status watched =
      poller_.Watch(processes_.pidfd(process.key), TokenOf(Source::kProcess, process.key));
  if (!watched.ok()) processes_.Remove(process.key);
  return watched;
}

void EpollDoorway::Refuse(uint64_t id, const absl::Status& why) {
  const Stranger stranger = strangers_.Remove(id);
  poller_.Forget(*stranger.socket);
  if (absl::IsUnavailable(why)) return;  // it left before it was admitted
  SayRefusal(stranger.user, why);
  // If the message cannot be sent now, the client only sees the connection close.
  posix::Send(*stranger.socket, BytesOf(RefusedFor(why)), {}).IgnoreError();
}

void EpollDoorway::SayRefusal(uint32_t user, const absl::Status& why) {
  ++(absl::IsResourceExhausted(why) ? no_place_ : bad_handshake_);
  ++refused_;
  const base::TimePoint now = clock_.Now();
  if (now - refusal_said_ < kSayRefusalsEvery) return;
  refusal_said_ = now;
  PENSTOCK_LOG(kInfo, "doorway_refused", {"refused", std::exchange(refused_, 0)}, {"user", user},
               {"why", why.message()});
}

void EpollDoorway::Disconnect(PeerId peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  poller_.Forget(*found->second);
  ::shutdown(found->second->get(), SHUT_RDWR);  // a sender may still hold the socket for a moment
  if (outbox_.Remove(peer)) guests_.LeavePlace(peer);
  makers_.Leave(peer);
  peers_.erase(found);
  visitor_.OnDisconnected(peer);
}

void EpollDoorway::DisconnectTheSlow() {
  for (const PeerId peer : outbox_.TakeSlow()) {
    if (!peers_.contains(peer)) continue;
    ++unread_;
    PENSTOCK_LOG(kWarning, "doorway_not_read", {"peer", peer.value()},
                 {"why", "the client does not read its messages and is disconnected"});
    Disconnect(peer);
  }
}

void EpollDoorway::CloseThoseAskedFor() {
  for (const PeerId peer : to_close_.TakeAll()) Disconnect(peer);
}

void EpollDoorway::ForgetThoseAskedFor() {
  for (const PeerId peer : to_forget_.TakeAll()) {
    if (peers_.contains(peer) || !processes_.Contains(peer)) continue;
    if (const std::optional<uint64_t> last_of = processes_.Forget(peer)) {
      poller_.Forget(processes_.pidfd(*last_of));
      processes_.Remove(*last_of);
    }
    OnGone(peer);
  }
}

void EpollDoorway::OnGone(PeerId peer) {
  guests_.Forget(peer);
  visitor_.OnGone(peer);
}

void EpollDoorway::ReapIfGone(uint64_t process) {
  if (!processes_.IsGone(process)) return;
  poller_.Forget(processes_.pidfd(process));
  for (const PeerId peer : processes_.Remove(process)) {
    Disconnect(peer);  // a forked child may keep the socket open
    OnGone(peer);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Doorway>> Doorway::Start(const DoorwayOptions& options,
                                                        Visitor& visitor) {
  PENSTOCK_ASSIGN_OR_RETURN(
      posix::Fd listener,
      ListenForGroup(options.path, posix::SocketKind::kSeqPacket, options.group));
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd wake, posix::MakeEvent());
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd spare, posix::MakeEvent());
  PENSTOCK_ASSIGN_OR_RETURN(Poller poller, Poller::Make());
  auto doorway = std::make_unique<EpollDoorway>(
      options, visitor, std::move(listener), std::move(wake), std::move(spare), std::move(poller));
  PENSTOCK_RETURN_IF_ERROR(doorway->Begin());
  return doorway;
}

}  // namespace penstock::doorway
