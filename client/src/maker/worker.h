// A Python worker's side of its channel to the daemon (common/shm/python_channel.h): which batch to
// make, where to write it, and what became of it. The process that uses it was forked by a host;
// user code runs between the calls.
//
//   EndWithHost(host)  →  Enter  →  Ready  →  Next → (SetRow …, AskForRoom …) → Done or Raised
//                                              ↑__________________________________________|
//
// **Ownership**: it owns its connection, the mapped channel and the mapped segments. Views that
// Next and AskForRoom return are valid until the batch is answered.
//
// **Thread safety**: one thread, that of the process that called Enter. No locks, no logging, no
// gRPC: what the parent's other threads held at the fork does not matter.
//
// After an error that says so, and after each error of Unavailable or Internal, the worker can only
// exit: further calls return the same error.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "client/src/maker/entrance.h"
#include "client/src/maker/segments.h"
#include "common/shm/python_channel.h"

namespace penstock::client {

// How long a worker waits for a segment that a request names: the daemon sends it first.
inline constexpr base::Duration kSegmentPatience = std::chrono::seconds(5);
// Where batches begin in memory: at multiples of this many bytes.
inline constexpr uint64_t kMadeAlignment = 64;

// Has the kernel kill this process when the process `host`, which forked it, ends.
//
// **Errors**: Unavailable if it has ended already.
absl::Status EndWithHost(pid_t host);

// Where a Python worker runs: its host's place, and which start of that place it is, from 1.
struct PlaceStart {
  uint32_t place = 0, start = 0;
  bool operator==(const PlaceStart&) const = default;
};

// One batch to make.
struct BatchToMake {
  uint64_t sequence = 0;          // 1, 2, … of this worker
  std::span<const uint64_t> ids;  // one for each row: which samples
  std::span<std::byte> room;      // to write the batch to; aligned to kMadeAlignment
  uint64_t most = 0;              // bytes that the feed allows a batch (max_batch_bytes)
  uint32_t attempt = 0;           // 0, or how often a worker died over this batch
  uint64_t epoch = 0, seed = 0;
  uint64_t key_first = 0, key_step = 0;  // row i draws random numbers by key_first + i * key_step
  uint32_t stream = 0;                   // which part of an iterable dataset
};

class MakerWorker {
 public:
  // Enters the doorway at "<address>.door". `token` is the host's.
  //
  // **Errors**: as EnterAsMaker; Internal if the channel is not for this place and start.
  static absl::StatusOr<std::unique_ptr<MakerWorker>> Enter(const std::string& address,
                                                            const HostToken& token, PlaceStart at,
                                                            base::Duration timeout);

  // Tells the daemon that requests may come.
  void Ready();

  // Waits for the next batch to make, which is then in hand.
  //
  // **Errors**: DeadlineExceeded: none came, or a signal did; try again. FailedPrecondition: one is
  // in hand. Unavailable: the daemon closed the connection. Internal: it sent something impossible.
  absl::StatusOr<BatchToMake> Next(base::TimePoint deadline);

  // Tells the daemon which row is in hand, for time-outs and messages. Costs two stores.
  //
  // **Requires**: a batch is in hand.
  void SetRow(uint32_t row);

  // Returns room for at least `bytes` bytes for the batch in hand. The room begins at the same
  // address as before, so what was written stays. Asks the daemon if there is less.
  //
  // **Errors**: ResourceExhausted if the feed or the daemon allows less; the message names both
  // numbers, and the batch stays in hand, so that an error can be written to the room there is.
  // DeadlineExceeded if the daemon does not answer: the worker must exit. Otherwise as Next.
  absl::StatusOr<std::span<std::byte>> AskForRoom(uint64_t bytes, base::TimePoint deadline);

  // Answers for the batch in hand: its first `bytes` bytes of room hold the batch.
  //
  // **Errors**: InvalidArgument for 0 bytes or more than the room; the batch stays in hand.
  // FailedPrecondition if none is in hand. Otherwise as Next.
  absl::Status Done(uint64_t bytes);

  // Likewise, but they hold an exception instead. `row`: the row that raised it, or the number of
  // rows if it was none of them.
  //
  // **Errors**: as Done; InvalidArgument also for a greater row.
  absl::Status Raised(uint32_t row, uint64_t bytes);

  // The room of the batch in hand; empty if there is none.
  std::span<std::byte> room() const;

 private:
  struct InHand {
    shm::MakeRequest request;  // `granted` grows with the room
    // Shared with segments_, which may forget the segment meanwhile.
    std::shared_ptr<const posix::Mapping> memory;
    base::TimePoint since;
    bool asks_for_room = false;
  };

  explicit MakerWorker(Entrance entrance);
  shm::PythonChannel& channel() const {
    return *reinterpret_cast<shm::PythonChannel*>(entrance_.memory.data());
  }
  absl::Status Break(absl::Status why);
  absl::Status ReadDoorway();
  absl::Status PopRequests();
  absl::Status Accept(const shm::MakeRequest& request);
  absl::StatusOr<shm::MakeRequest> Await(std::deque<shm::MakeRequest>& kept,
                                         base::TimePoint deadline);
  absl::Status Sleep(base::TimePoint deadline);
  absl::StatusOr<BatchToMake> Take(const shm::MakeRequest& request);
  absl::StatusOr<std::shared_ptr<const posix::Mapping>> AwaitSegment(uint32_t id);
  absl::Status Answer(shm::MakeOutcome outcome, uint32_t row, uint64_t bytes);
  absl::Status Finish(shm::MakeOutcome outcome, uint32_t row, uint64_t bytes);

  const Entrance entrance_;
  MakerSegments segments_;
  shm::RingConsumer<shm::MakeRequest, shm::kPythonRingCapacity> requests_;
  shm::RingProducer<shm::MakeAnswer, shm::kPythonRingCapacity> answers_;
  // Taken from the ring but not yet asked for; together at most kPythonRingCapacity.
  std::deque<shm::MakeRequest> makes_, rooms_;
  uint64_t last_sequence_ = 0;  // of the requests that were taken
  std::optional<InHand> in_hand_;
  bool interrupted_ = false;  // the last sleep, by a signal
  absl::Status broken_;
};

}  // namespace penstock::client
