#include "tests/unit/maker/maker_daemon.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "client/src/connection/greet.h"
#include "common/base/check.h"
#include "common/shm/sleep.h"

namespace penstock::client {

HostToken Token() {
  HostToken token;
  std::copy_n("abcdefghijklmnop", token.size(), token.begin());
  return token;
}

base::TimePoint Soon() { return base::Now() + kPatience; }

bool Eventually(const std::function<bool()>& condition) {
  for (const base::TimePoint deadline = Soon(); base::Now() < deadline;) {
    if (condition()) return true;
    std::this_thread::yield();
  }
  return condition();
}

bool ClosesSoon(int pipe) {
  return Eventually([pipe] {
    pollfd entry{.fd = pipe, .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, 0) > 0 && (entry.revents & POLLHUP) != 0;
  });
}

Lent::Lent(size_t bytes)
    : memory(posix::MakeMemory("lent", bytes).value()),
      mapping(posix::Mapping::Map(memory, bytes, posix::Access::kReadWrite).value()),
      to_maker(posix::MakeNotifier().value()),
      to_daemon(posix::MakeEvent().value()) {}

std::vector<int> Lent::fds() const {
  return {memory.get(), to_maker.receiver.get(), to_daemon.get()};
}

MakerDaemon::MakerDaemon()
    : doorway_(doorway::Doorway::Start(
                   {.path = address_ + shm::kDoorwaySuffix, .makers = ::geteuid()}, book_)
                   .value()) {}

// The visitor hears of a peer before that is welcomed, so wait until the doorway serves another
// one.
doorway::Peer MakerDaemon::AwaitArrival(size_t count) {
  PENSTOCK_CHECK(book_.WaitForEvents(count));
  const doorway::Peer peer = book_.arrived().back();
  const posix::Fd other = doorway::EnterAndSendHandshake(address_ + shm::kDoorwaySuffix);
  PENSTOCK_CHECK(doorway::ReadWelcome(other).ok());
  return peer;
}

absl::Status MakerDaemon::Send(doorway::PeerId peer, shm::DoorwayKind kind, uint64_t bytes,
                               const std::vector<int>& fds) {
  const shm::DoorwayMemory message{.header = MakeHeader(kind), .bytes = bytes, .reserved = 0};
  return doorway_->Send(peer, &message, sizeof(message), fds);
}

void MakerDaemon::SendSegment(doorway::PeerId peer, uint32_t id, const posix::Fd& memory,
                              uint64_t bytes) {
  const shm::DoorwaySegment message{.header = MakeHeader(shm::DoorwayKind::kSegment),
                                    .segment = id,
                                    .reserved = 0,
                                    .bytes = bytes};
  PENSTOCK_CHECK(doorway_->Send(peer, &message, sizeof(message), {memory.get()}).ok());
}

void MakerDaemon::SendGone(doorway::PeerId peer, uint32_t id) {
  const shm::DoorwaySegment message{.header = MakeHeader(shm::DoorwayKind::kSegmentGone),
                                    .segment = id,
                                    .reserved = 0,
                                    .bytes = 0};
  PENSTOCK_CHECK(doorway_->Send(peer, &message, sizeof(message), {}).ok());
}

WorkerEnd::WorkerEnd() {
  channel.magic = shm::kPythonChannelMagic;
  channel.version = shm::kPythonChannelVersion;
  channel.place = kAt.place;
  channel.start = kAt.start;
}

absl::StatusOr<std::unique_ptr<MakerWorker>> WorkerEnd::Enter(uint64_t bytes) {
  auto entering = std::async(std::launch::async, [this] {
    return MakerWorker::Enter(daemon.address(), Token(), kAt, kPatience);
  });
  peer = daemon.AwaitArrival();
  PENSTOCK_CHECK(
      daemon.Send(peer.id, shm::DoorwayKind::kChannel, bytes, channel_memory.fds()).ok());
  return entering.get();
}

shm::MakeRequest WorkerEnd::Request(uint64_t sequence) {
  shm::MakeRequest request{};
  request.sequence = sequence;
  request.kind = shm::MakeKind::kMake;
  request.rows = 4;
  request.segment = kSegmentId;
  request.attempt = 1;
  request.slot_offset = 4096;
  request.granted = 1000;
  request.most = 8000;
  request.epoch = 5;
  request.seed = 6;
  request.key_first = 7;
  request.key_step = 8;
  request.stream = 2;
  request.ids_offset = 64;
  request.data_offset = 128;
  return request;
}

void WorkerEnd::Push(const shm::MakeRequest& request) {
  PENSTOCK_CHECK(requests_.Push(request) == shm::RingOutcome::kDone);
  if (shm::EndSleep(channel.worker_asleep)) posix::Notify(channel_memory.to_maker.sender);
}

std::optional<shm::MakeAnswer> WorkerEnd::Pop() {
  shm::MakeAnswer answer;
  if (answers_.Pop(answer) != shm::RingOutcome::kDone) return std::nullopt;
  return answer;
}

}  // namespace penstock::client
