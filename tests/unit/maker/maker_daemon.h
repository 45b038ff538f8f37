// A daemon's end for tests: the server's own doorway, and a page or a channel that the test writes.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/src/maker/host.h"
#include "client/src/maker/worker.h"
#include "common/posix/memory.h"
#include "common/shm/python_channel.h"
#include "common/shm/python_host.h"
#include "tests/unit/doorway/visit.h"

namespace penstock::client {

inline constexpr base::Duration kPatience = std::chrono::seconds(5);
inline constexpr base::TimePoint kNow;  // a deadline that has passed
inline constexpr PlaceStart kAt = {.place = 3, .start = 1};
inline constexpr uint64_t kSegmentBytes = 64 << 10;
inline constexpr uint32_t kSegmentId = 9;

HostToken Token();
base::TimePoint Soon();  // kPatience from now
// Whether this becomes true within kPatience.
bool Eventually(const std::function<bool()>& condition);
// Likewise, whether every process closes the other end of an empty pipe.
bool ClosesSoon(int pipe);

// Memory and events as the daemon makes them for one maker.
struct Lent {
  explicit Lent(size_t bytes);
  template <typename Wire>
  Wire& As() const {
    return *reinterpret_cast<Wire*>(mapping.data());
  }
  std::vector<int> fds() const;

  posix::Fd memory;
  posix::Mapping mapping;
  posix::Notifier to_maker;
  posix::Fd to_daemon;
};

class MakerDaemon {
 public:
  MakerDaemon();

  const std::string& address() const { return address_; }
  doorway::GuestBook& book() { return book_; }
  // Waits until so many have arrived and were welcomed; returns the last one.
  doorway::Peer AwaitArrival(size_t count = 1);
  absl::Status Send(doorway::PeerId peer, shm::DoorwayKind kind, uint64_t bytes,
                    const std::vector<int>& fds);
  void SendSegment(doorway::PeerId peer, uint32_t id, const posix::Fd& memory, uint64_t bytes);
  void SendGone(doorway::PeerId peer, uint32_t id);
  void Close() { doorway_.reset(); }  // every connection

 private:
  const doorway::TemporaryDirectory folder_;
  const std::string address_ = folder_ / "penstock.sock";
  doorway::GuestBook book_;
  std::unique_ptr<doorway::Doorway> doorway_;
};

// A worker at kAt and its channel, filled in correctly unless the test changes it before Enter.
struct WorkerEnd {
  WorkerEnd();
  absl::StatusOr<std::unique_ptr<MakerWorker>> Enter(uint64_t bytes = sizeof(shm::PythonChannel));
  // Sends segment kSegmentId.
  void SendSegment() { daemon.SendSegment(peer.id, kSegmentId, segment, kSegmentBytes); }
  // A request for batch `sequence` of 4 rows at 4 KiB of the segment: ids at 64, the batch at 128.
  static shm::MakeRequest Request(uint64_t sequence);
  // Pushes it, and wakes the worker if it sleeps.
  void Push(const shm::MakeRequest& request);
  std::optional<shm::MakeAnswer> Pop();
  std::byte* slot() const { return segment_view.data() + 4096; }

  MakerDaemon daemon;
  Lent channel_memory{sizeof(shm::PythonChannel)};
  shm::PythonChannel& channel = channel_memory.As<shm::PythonChannel>();
  posix::Fd segment = posix::MakeMemory("made-segment", kSegmentBytes).value();
  posix::Mapping segment_view =
      posix::Mapping::Map(segment, kSegmentBytes, posix::Access::kReadWrite).value();
  doorway::Peer peer;

 private:
  shm::RingProducer<shm::MakeRequest, shm::kPythonRingCapacity> requests_{channel.requests};
  shm::RingConsumer<shm::MakeAnswer, shm::kPythonRingCapacity> answers_{channel.answers};
};

}  // namespace penstock::client
