#include "server/doorway/outbox.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/posix/socket.h"
#include "common/shm/doorway_wire.h"

namespace penstock::doorway {
namespace {

// Checking all peers costs one system call for each. This pause keeps a user at its limit from
// causing that with every message.
constexpr base::Duration kLookAtAllEvery = std::chrono::milliseconds(10);

// The unreceived bytes of a socket, as the kernel counts them; nullopt if it does not say.
std::optional<uint64_t> UntakenOf(const posix::Fd& socket) {
  int count = 0;
  if (::ioctl(socket.get(), SIOCOUTQ, &count) != 0 || count < 0) return std::nullopt;
  return static_cast<uint64_t>(count);
}

// How many bytes the kernel counts for one of our messages. All messages that carry descriptors
// have the same size.
uint64_t MeasureCharge() {
  static_assert(sizeof(shm::DoorwaySession) == sizeof(shm::DoorwaySegment) &&
                sizeof(shm::DoorwaySession) == sizeof(shm::DoorwaySlab) &&
                sizeof(shm::DoorwaySession) == sizeof(shm::DoorwayMemory));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return 0;
  const posix::Fd ours(ends[0]), theirs(ends[1]);
  const shm::DoorwaySession message{};
  if (!posix::Send(ours, std::as_bytes(std::span(&message, 1)), {}).ok()) return 0;
  return UntakenOf(ours).value_or(0);
}

}  // namespace

Outbox::Outbox(const Limits& limits, std::function<void()> wake)
    : limits_(limits),
      wake_(std::move(wake)),
      charge_(MeasureCharge()),
      undelivered_(limits.descriptors) {}

void Outbox::Add(PeerId peer, SharedSocket socket, uint32_t user) {
  base::MutexLock lock(mutex_);
  lines_[peer] = Line{.socket = std::move(socket), .user = user};
}

bool Outbox::Remove(PeerId peer) {
  base::MutexLock lock(mutex_);
  auto line = lines_.extract(peer);
  if (!line) return true;
  LookAt(line.mapped());
  if (line.mapped().descriptors == 0) return true;
  removed_.insert(std::move(line));
  return false;
}

absl::Status Outbox::Send(PeerId peer, std::span<const std::byte> message,
                          std::span<const int> fds) {
  const std::string subject = absl::StrCat("sending to peer ", peer.value());
  absl::Status sent;
  bool someone_is_slow = false;
  {
    base::MutexLock lock(mutex_);
    const auto found = lines_.find(peer);
    if (found == lines_.end())
      return absl::UnavailableError(absl::StrCat(subject, ": the client is gone"));
    sent = SendNow(peer, found->second, message, fds);
    someone_is_slow = !slow_.empty();
  }
  if (someone_is_slow) wake_();
  return base::Annotate(sent, subject);
}

absl::Status Outbox::SendNow(PeerId peer, Line& line, std::span<const std::byte> message,
                             std::span<const int> fds) {
  LookAt(line);
  if (line.slow || line.unread.size() >= limits_.messages_of_one) {
    Cut(peer, line);
    return absl::ResourceExhaustedError(
        absl::StrCat("the client has not read its last ", line.unread.size(), " messages"));
  }
  if (!CanQueue(line.user, fds.size())) return CutWorst(line.user);
  const absl::Status sent = posix::Send(*line.socket, message, fds);
  if (sent.ok()) {
    line.unread.push_back(static_cast<uint8_t>(fds.size()));
    line.descriptors += fds.size();
    undelivered_.Add(line.user, fds.size());
  } else if (absl::IsResourceExhausted(sent)) {
    Cut(peer, line);
  } else if (absl::IsAborted(sent)) {
    return CutWorst(std::nullopt);
  }
  return sent;
}

// Messages are received in the order in which they were sent.
void Outbox::LookAt(Line& line) {
  if (line.unread.empty()) return;
  const std::optional<uint64_t> untaken = UntakenOf(*line.socket);
  if (!untaken || (charge_ == 0 && *untaken > 0)) return;
  const uint64_t messages = charge_ == 0 ? 0 : (*untaken + charge_ - 1) / charge_;
  uint64_t taken = 0;
  for (; line.unread.size() > messages; line.unread.pop_front()) taken += line.unread.front();
  line.descriptors -= taken;
  undelivered_.Remove(line.user, taken);
}

bool Outbox::CanQueue(uint32_t user, uint64_t descriptors) {
  if (descriptors == 0 || undelivered_.CanTake(user, false, descriptors)) return true;
  const base::TimePoint now = base::Now();
  if (now - looked_at_all_ < kLookAtAllEvery) return false;
  looked_at_all_ = now;
  for (auto* lines : {&lines_, &removed_})
    for (auto& [peer, line] : *lines) LookAt(line);
  return undelivered_.CanTake(user, false, descriptors);
}

// Disconnects the peer with the most unreceived descriptors, among this user's or among all.
absl::Status Outbox::CutWorst(std::optional<uint32_t> user) {
  auto worst = lines_.end();
  for (auto line = lines_.begin(); line != lines_.end(); ++line) {
    if (line->second.slow || line->second.descriptors == 0) continue;
    if (user && line->second.user != *user) continue;
    if (worst == lines_.end() || line->second.descriptors > worst->second.descriptors) worst = line;
  }
  if (worst != lines_.end()) Cut(worst->first, worst->second);
  if (!user)
    return absl::ResourceExhaustedError(
        absl::StrCat("too many sent descriptors are not received yet; raise the daemon's limit of "
                     "open files (LimitNOFILE)"));
  return absl::ResourceExhaustedError(
      absl::StrCat("processes of user ", *user, " have not received ", undelivered_.HeldBy(*user),
                   " descriptors, the most that one user may leave; end processes that do not "
                   "read"));
}

void Outbox::Cut(PeerId peer, Line& line) {
  if (std::exchange(line.slow, true)) return;
  slow_.push_back(peer);
}

std::vector<PeerId> Outbox::TakeSlow() {
  base::MutexLock lock(mutex_);
  return std::exchange(slow_, {});
}

std::vector<PeerId> Outbox::Settle() {
  base::MutexLock lock(mutex_);
  std::vector<PeerId> settled;
  for (auto& [peer, line] : removed_) {
    LookAt(line);
    if (line.descriptors == 0) settled.push_back(peer);
  }
  for (const PeerId peer : settled) removed_.erase(peer);
  return settled;
}

bool Outbox::settling() const {
  base::MutexLock lock(mutex_);
  return !removed_.empty();
}

}  // namespace penstock::doorway
