#include "client/src/maker/host.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "client/src/connection/greet.h"
#include "client/src/maker/signals.h"
#include "common/posix/process.h"

namespace penstock::client {
namespace {

absl::Status CheckOptions(const HostOptions& options) {
  if (!posix::IsPidfd(options.trainer)) {
    return absl::InvalidArgumentError("a host needs a pidfd of its trainer");
  }
  if (!options.life.valid()) {
    return absl::InvalidArgumentError("a host needs a socket that its trainer closes to end it");
  }
  return absl::OkStatus();
}

absl::Status CheckPage(const shm::PythonHostPage& page) {
  const bool ours = page.magic == shm::kPythonHostMagic &&
                    page.version == shm::kPythonHostVersion &&
                    page.capacity == shm::kMaxPythonWorkers;
  if (ours) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the daemon's page for a host has version ", page.version, " and ",
                   page.capacity, " places, expected version ", shm::kPythonHostVersion, " and ",
                   shm::kMaxPythonWorkers, "; use a daemon of this library's release"));
}

// Whether the other end of a socket is closed. Drops what it sent.
bool IsClosed(const posix::Fd& socket) {
  char ignored[64];
  ssize_t got;
  do {
    got = ::recv(socket.get(), ignored, sizeof(ignored), MSG_DONTWAIT);
  } while (got > 0 || (got < 0 && errno == EINTR));
  return got == 0 || errno != EAGAIN;
}

}  // namespace

MakerHost::MakerHost(HostOptions options, Entrance entrance)
    : owner_(::getpid()), options_(std::move(options)), entrance_(std::move(entrance)) {}

absl::StatusOr<std::unique_ptr<MakerHost>> MakerHost::Enter(HostOptions options) {
  PENSTOCK_RETURN_IF_ERROR(CheckOptions(options));
  shm::DoorwayHost handshake{};
  handshake.header = MakeHeader(shm::DoorwayKind::kHost);
  std::copy(options.token.begin(), options.token.end(), handshake.token);
  CopyText(options.client, handshake.client);
  PENSTOCK_ASSIGN_OR_RETURN(
      Entrance entrance,
      EnterAsMaker(options.address, std::as_bytes(std::span(&handshake, 1)),
                   shm::DoorwayKind::kHostPage, sizeof(shm::PythonHostPage), options.timeout));
  std::unique_ptr<MakerHost> host(new MakerHost(std::move(options), std::move(entrance)));
  PENSTOCK_RETURN_IF_ERROR(CheckPage(host->page()));
  return host;
}

MakerHost::~MakerHost() {
  if (::getpid() == owner_) children_.KillAll(base::Now() + kReapPatience);
}

absl::StatusOr<std::vector<PlaceStart>> MakerHost::Next(base::TimePoint deadline) {
  for (;;) {
    PENSTOCK_RETURN_IF_ERROR(ended_);
    ReapEnded();
    KillUnwanted();
    std::vector<PlaceStart> wanted = Wanted();
    if (!wanted.empty() || base::Now() >= deadline) {
      ended_ = Wait(base::TimePoint());  // nobody forks workers for a trainer that is gone
      if (!ended_.ok()) return ended_;
      return wanted;
    }
    ended_ = Wait(deadline);
  }
}

void MakerHost::ReapEnded() {
  const auto ended = children_.Reap(sizeof(shm::PythonPlace::words) - 1);
  for (const MakerChildren::Ended& one : ended) {
    shm::PythonPlace& place = page().places[one.place];
    place.exit_status = one.exit_status;
    CopyText(one.words, place.words);
    place.ended.store(one.start, std::memory_order_release);
  }
  if (!ended.empty()) WakeDaemon(entrance_.to_daemon);
}

void MakerHost::KillUnwanted() {
  for (uint32_t i = 0; i < shm::kMaxPythonWorkers; ++i) {
    const uint32_t start = page().places[i].kill.load(std::memory_order_acquire);
    if (start != 0 && start == children_.StartAt(i)) children_.Kill(i);
  }
}

std::vector<PlaceStart> MakerHost::Wanted() const {
  std::vector<PlaceStart> wanted;
  for (uint32_t i = 0; i < shm::kMaxPythonWorkers; ++i) {
    const shm::PythonPlace& place = page().places[i];
    const bool more = place.wanted_starts.load(std::memory_order_acquire) > starts_[i];
    if (more && !children_.IsAt(i)) wanted.push_back({.place = i, .start = starts_[i] + 1});
  }
  return wanted;
}

absl::Status MakerHost::Wait(base::TimePoint deadline) {
  std::vector<pollfd> entries = {Readable(entrance_.to_us), Readable(entrance_.socket),
                                 Readable(options_.trainer), Readable(options_.life)};
  children_.AppendTo(entries);
  PENSTOCK_RETURN_IF_ERROR(WaitForAny(entries, deadline));
  if (entries[2].revents != 0) return absl::CancelledError("the trainer has ended");
  if (entries[3].revents != 0) PENSTOCK_RETURN_IF_ERROR(CheckTrainer());
  if (entries[1].revents != 0) PENSTOCK_RETURN_IF_ERROR(CheckDoorway());
  return entries[0].revents != 0 ? ClearEvent(entrance_.to_us) : absl::OkStatus();
}

absl::Status MakerHost::CheckTrainer() const {
  if (!IsClosed(options_.life)) return absl::OkStatus();
  return absl::CancelledError("the trainer needs no host any more");
}

// The daemon sends a host nothing after the page.
absl::Status MakerHost::CheckDoorway() const {
  const auto message =
      posix::Receive(entrance_.socket, shm::kMaxDoorwayBytes, base::Duration::zero());
  if (absl::IsDeadlineExceeded(message.status())) return absl::OkStatus();
  if (!message.ok()) return message.status();
  return absl::InternalError(absl::StrCat("the daemon sent a host a message of ",
                                          message->bytes.size(), " bytes, expected none"));
}

absl::StatusOr<int> MakerHost::MakeWords(uint32_t place) {
  if (place < shm::kMaxPythonWorkers) return children_.MakeWords(place);
  return absl::InvalidArgumentError(
      absl::StrCat("place ", place, ", expected less than ", shm::kMaxPythonWorkers));
}

absl::Status MakerHost::NoteForked(PlaceStart at, pid_t pid) {
  const std::vector<PlaceStart> wanted = Wanted();
  if (std::find(wanted.begin(), wanted.end(), at) == wanted.end()) {
    return absl::InvalidArgumentError(absl::StrCat("nobody wants start ", at.start, " at place ",
                                                   at.place, "; fork only what Next returns"));
  }
  PENSTOCK_RETURN_IF_ERROR(children_.Add(at.place, at.start, pid));
  shm::PythonPlace& place = page().places[at.place];
  starts_[at.place] = at.start;
  place.pid.store(pid, std::memory_order_relaxed);
  place.starts.store(at.start, std::memory_order_release);
  WakeDaemon(entrance_.to_daemon);
  return absl::OkStatus();
}

void MakerHost::Fail(const std::string& why) {
  CopyText(why, page().error);
  page().failed.store(1, std::memory_order_release);
  WakeDaemon(entrance_.to_daemon);
}

void MakerHost::LeaveInWorker(uint32_t place) {
  children_.Forget(place);
  entrance_ = Entrance();
  options_.trainer.Close();
  options_.life.Close();
  // The host does the same (MakerChildren::Add): it is done before user code runs, whoever is
  // first.
  ::setpgid(0, 0);
}

}  // namespace penstock::client
