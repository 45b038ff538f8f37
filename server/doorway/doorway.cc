#include "server/doorway/doorway.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/posix/socket.h"
#include "common/telemetry/log.h"
#include "server/doorway/address.h"
#include "server/doorway/hello.h"
#include "server/doorway/outbox.h"
#include "server/doorway/poller.h"
#include "server/doorway/processes.h"

namespace penstock::doorway {
namespace {

constexpr size_t kMaxStrangers = 64;  // connections that have not said Hello yet
constexpr int kAcceptsAtOnce = 16;    // then whoever else is waiting has a turn
constexpr base::Duration kAcceptPause = std::chrono::milliseconds(100);  // out of descriptors
constexpr base::Duration kNoWait{0};

// What a token of the poller stands for: its two lowest bits; an id is above them.
enum class Source : uint64_t { kListener = 0, kStop = 1, kSocket = 2, kProcess = 3 };

constexpr uint64_t TokenOf(Source source, uint64_t id = 0) {
  return id << 2 | static_cast<uint64_t>(source);
}

template <typename Wire>
std::span<const std::byte> BytesOf(const Wire& message) {
  return std::as_bytes(std::span(&message, 1));
}

class EpollDoorway final : public Doorway {
 public:
  EpollDoorway(const Options& options, Visitor& visitor, posix::Fd listener, posix::Fd stop,
               Poller poller)
      : options_(options),
        visitor_(visitor),
        listener_(std::move(listener)),
        stop_(std::move(stop)),
        poller_(std::move(poller)),
        processes_({.processes = size_t{4} * options.max_peers}) {}

  absl::Status Begin() {
    PENSTOCK_RETURN_IF_ERROR(poller_.Watch(listener_, TokenOf(Source::kListener)));
    PENSTOCK_RETURN_IF_ERROR(poller_.Watch(stop_, TokenOf(Source::kStop)));
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  }

  ~EpollDoorway() override {
    posix::Ring(stop_);
    if (thread_.joinable()) thread_.join();
    ::unlink(options_.path.c_str());
  }

  absl::Status Send(PeerId peer, const void* message, size_t bytes,
                    const std::vector<int>& fds) override {
    return outbox_.Send(peer, {static_cast<const std::byte*>(message), bytes}, fds);
  }

 private:
  // A connection that has not said Hello. Ids rise, and so do deadlines with them.
  struct Stranger {
    posix::Fd socket;
    base::TimePoint deadline;
  };

  void Run();
  bool Serve(uint64_t token);
  void ServeSocket(uint64_t id);

  void AcceptAll();
  void PauseAccepting(const absl::Status& why);
  base::Duration DoWhatIsDue();  // how long until more will be

  void Greet(uint64_t id);
  absl::Status Admit(uint64_t id, posix::Message message);
  void Refuse(uint64_t id, const absl::Status& why);
  posix::Fd RemoveStranger(uint64_t id);
  void Disconnect(PeerId peer);
  void BuryIfGone(uint64_t process);

  const Options options_;
  Visitor& visitor_;
  base::SteadyClock clock_;
  Outbox outbox_;

  // Of the doorway's thread.
  posix::Fd listener_;
  posix::Fd stop_;
  Poller poller_;
  uint64_t last_id_ = 0;
  std::optional<base::TimePoint> accept_again_;
  std::map<uint64_t, Stranger> strangers_;
  std::map<PeerId, SharedSocket> peers_;
  Processes processes_;

  std::thread thread_;
};

void EpollDoorway::Run() {
  ::pthread_setname_np(::pthread_self(), "doorway");
  for (;;) {
    const base::Duration wait = DoWhatIsDue();
    for (const uint64_t token : poller_.Wait(wait)) {
      if (!Serve(token)) return;
    }
  }
}

// False when it is time to stop. What a token stood for may have ended earlier in the same round.
bool EpollDoorway::Serve(uint64_t token) {
  const uint64_t id = token >> 2;
  switch (static_cast<Source>(token & 3)) {
    case Source::kListener:
      AcceptAll();
      return true;
    case Source::kStop:
      return false;
    case Source::kSocket:
      ServeSocket(id);
      return true;
    case Source::kProcess:
      BuryIfGone(id);
      return true;
  }
  return true;
}

void EpollDoorway::ServeSocket(uint64_t id) {
  if (strangers_.contains(id)) return Greet(id);
  const auto found = peers_.find(PeerId(id));
  if (found == peers_.end()) return;
  const auto message = posix::Receive(*found->second, shm::kMaxDoorwayBytes, kNoWait);
  if (absl::IsDeadlineExceeded(message.status())) return;  // nothing there after all
  if (!absl::IsUnavailable(message.status())) {
    PENSTOCK_LOG(kWarning, "doorway_garbage", {"peer", id},
                 {"why", "a client speaks once, and this one spoke again"});
  }
  Disconnect(PeerId(id));
}

void EpollDoorway::AcceptAll() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    auto socket = posix::Accept(listener_);
    if (!socket.ok()) return PauseAccepting(socket.status());
    if (!socket->has_value()) return;
    if (strangers_.size() >= kMaxStrangers) {
      Refuse(strangers_.begin()->first,
             absl::ResourceExhaustedError(
                 absl::StrCat("more than ", kMaxStrangers,
                              " connections at the doorway have not said Hello; try again")));
    }
    const uint64_t id = ++last_id_;
    Stranger stranger{.socket = **std::move(socket),
                      .deadline = clock_.Now() + options_.hello_timeout};
    if (!poller_.Watch(stranger.socket, TokenOf(Source::kSocket, id)).ok()) continue;
    strangers_.emplace(id, std::move(stranger));
  }
}

// The listener stays readable while descriptors are short; not to spin, it is left alone for a
// while.
void EpollDoorway::PauseAccepting(const absl::Status& why) {
  PENSTOCK_LOG(kWarning, "doorway_accept_failed", {"why", why.message()},
               {"remedy", "raise the limit of open files (LimitNOFILE)"});
  poller_.Forget(listener_);
  accept_again_ = clock_.Now() + kAcceptPause;
}

base::Duration EpollDoorway::DoWhatIsDue() {
  const base::TimePoint now = clock_.Now();
  base::TimePoint next = now + std::chrono::minutes(1);
  if (accept_again_.has_value() && *accept_again_ <= now) {
    const bool watched = poller_.Watch(listener_, TokenOf(Source::kListener)).ok();
    accept_again_ = watched ? std::nullopt : std::optional(now + kAcceptPause);
  }
  if (accept_again_.has_value()) next = std::min(next, *accept_again_);
  while (!strangers_.empty() && strangers_.begin()->second.deadline <= now) {
    Refuse(strangers_.begin()->first,
           absl::DeadlineExceededError("no Hello came in time; use Penstock's client library"));
  }
  if (!strangers_.empty()) next = std::min(next, strangers_.begin()->second.deadline);
  return next - now;
}

void EpollDoorway::Greet(uint64_t id) {
  auto message = posix::Receive(strangers_.at(id).socket, shm::kMaxDoorwayBytes, kNoWait);
  if (absl::IsDeadlineExceeded(message.status())) return;  // nothing there after all
  const absl::Status admitted = message.ok() ? Admit(id, *std::move(message)) : message.status();
  if (!admitted.ok()) Refuse(id, admitted);
}

absl::Status EpollDoorway::Admit(uint64_t id, posix::Message message) {
  Peer peer{.id = PeerId(id)};
  PENSTOCK_ASSIGN_OR_RETURN(Hello hello, ReadHello(message.bytes));
  peer.client = std::move(hello.client);
  if (peers_.size() >= options_.max_peers) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this daemon serves ", options_.max_peers,
                     " clients, as many as it may; close one and try again"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(Identity who,
                            Identify(strangers_.at(id).socket, std::move(message.fds)));
  PENSTOCK_ASSIGN_OR_RETURN(peer.ticket, NewTicket());
  PENSTOCK_ASSIGN_OR_RETURN(const Processes::Entry process,
                            processes_.Add(peer.id, who.credentials.pid, std::move(who.pidfd)));
  if (process.is_new) {
    const absl::Status watched =
        poller_.Watch(processes_.pidfd(process.key), TokenOf(Source::kProcess, process.key));
    if (!watched.ok()) {
      processes_.Remove(process.key);
      return watched;
    }
  }
  peer.pid = who.credentials.pid;
  peer.uid = who.credentials.uid;
  peer.gid = who.credentials.gid;
  peer.groups = std::move(who.groups);

  const auto socket = std::make_shared<const posix::Fd>(std::move(strangers_.at(id).socket));
  strangers_.erase(id);
  peers_.emplace(peer.id, socket);
  outbox_.Add(peer.id, socket);
  visitor_.OnArrived(peer);  // before the client can use its ticket
  const shm::DoorwayWelcome welcome = WelcomeWith(peer.ticket, hello.version);
  if (!posix::Send(*socket, BytesOf(welcome), {}).ok()) Disconnect(peer.id);
  return absl::OkStatus();
}

void EpollDoorway::Refuse(uint64_t id, const absl::Status& why) {
  const posix::Fd socket = RemoveStranger(id);
  if (absl::IsUnavailable(why)) return;  // it left before it was in
  PENSTOCK_LOG(kInfo, "doorway_refused", {"why", why.message()});
  // What cannot be said now is not said: the stranger sees the end of the connection.
  posix::Send(socket, BytesOf(RefusedFor(why)), {}).IgnoreError();
}

posix::Fd EpollDoorway::RemoveStranger(uint64_t id) {
  const auto found = strangers_.find(id);
  posix::Fd socket = std::move(found->second.socket);
  strangers_.erase(found);
  poller_.Forget(socket);
  return socket;
}

void EpollDoorway::Disconnect(PeerId peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  outbox_.Remove(peer);
  poller_.Forget(*found->second);
  ::shutdown(found->second->get(), SHUT_RDWR);  // although a sender may hold it for a moment more
  peers_.erase(found);
  visitor_.OnDisconnected(peer);
}

void EpollDoorway::BuryIfGone(uint64_t process) {
  if (!processes_.IsGone(process)) return;
  poller_.Forget(processes_.pidfd(process));
  for (const PeerId peer : processes_.Remove(process)) {
    Disconnect(peer);  // a forked child may keep the socket open
    visitor_.OnGone(peer);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Doorway>> Doorway::Start(const Options& options, Visitor& visitor) {
  PENSTOCK_ASSIGN_OR_RETURN(
      posix::Fd listener,
      ListenForGroup(options.path, posix::SocketKind::kSeqPacket, options.group));
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd stop, posix::MakeEvent());
  PENSTOCK_ASSIGN_OR_RETURN(Poller poller, Poller::Make());
  auto doorway = std::make_unique<EpollDoorway>(options, visitor, std::move(listener),
                                                std::move(stop), std::move(poller));
  PENSTOCK_RETURN_IF_ERROR(doorway->Begin());
  return doorway;
}

}  // namespace penstock::doorway
