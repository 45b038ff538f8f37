// The daemon's end of a Python worker's channel (common/shm/python_channel.h). Keeps the requests
// that the worker has, in order, and checks each answer against the oldest.
//
// The worker can write anything at any time. An answer is copied, then checked; after an impossible
// one the channel is broken for good, and the worker must be killed.
//
// **Ownership**: one for each worker process, never reused. **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "common/shm/python_channel.h"
#include "common/shm/sleep.h"
#include "server/pyworkers/limits.h"

namespace penstock::pyworkers {

class ChannelEndpoint {
 public:
  // Which start of which place of its host the worker is.
  struct Worker {
    uint32_t place = 0, start = 0;
  };
  static absl::StatusOr<ChannelEndpoint> Make(const Worker& worker);

  // What the worker gets, in this order.
  const posix::Fd& memory() const { return memory_; }
  static constexpr uint64_t kBytes = sizeof(shm::PythonChannel);
  const posix::Fd& event_to_worker() const { return to_worker_.receiver; }
  const posix::Fd& event_to_daemon() const { return to_daemon_; }

  // Requests without an answer, but for kNeedsRoom.
  size_t in_hand() const { return in_hand_.size(); }

  // Gives the worker a batch to make, and wakes it if it sleeps. Sets the sequence and the kind.
  // **Requires**: in_hand() < kMaxInHand.
  //
  // **Errors**: DataLoss: the channel is broken.
  absl::Status Push(const shm::MakeRequest& request);
  // Answers kNeedsRoom for the oldest request: from now on `granted` bytes may be written. Fewer
  // than it needs refuse it; then the worker writes an error. **Requires**: awaits_room; `granted`
  // is not less than before.
  //
  // **Errors**: as Push.
  absl::Status GiveRoom(uint64_t granted);
  bool awaits_room() const { return needed_ != 0; }
  // **Requires**: in_hand() > 0.
  uint64_t granted_to_oldest() const { return in_hand_.front().granted; }

  // The next answer, which is to the oldest request; nullopt: none yet. After kDone and kRaised
  // that request is no longer in hand.
  //
  // **Errors**: DataLoss: the answer is impossible. Permanent.
  absl::StatusOr<std::optional<shm::MakeAnswer>> Pop();

  // Why the channel is broken; OK while it is not.
  const absl::Status& status() const { return broken_; }

  // Resets event_to_daemon and asks the worker to notify it. Call it before the last Pop.
  void AwaitNotification();

  // Claimed by the worker, so not to be trusted. `progress` changes whenever it starts a batch or
  // moves to another row.
  bool ready() const { return channel().ready.load(std::memory_order_acquire) == 1; }
  uint64_t busy_ns() const { return channel().busy_ns.load(std::memory_order_relaxed); }
  uint64_t progress() const { return channel().row.load(std::memory_order_relaxed); }
  bool has_started_oldest() const;
  // The row of the oldest request that the worker has in hand: less than its number of rows, or
  // nullopt if it is none of them.
  std::optional<uint32_t> row_in_hand() const;

 private:
  explicit ChannelEndpoint(posix::Mapping mapping);
  shm::PythonChannel& channel() const {
    return *reinterpret_cast<shm::PythonChannel*>(mapping_.data());
  }
  absl::Status Send(const shm::MakeRequest& request);
  absl::Status Check(const shm::MakeAnswer& answer) const;
  absl::Status CheckNeed(const shm::MakeAnswer& answer) const;

  posix::Fd memory_;
  posix::Mapping mapping_;
  posix::Notifier to_worker_;  // the worker has the receiving end, and may do anything with it
  posix::Fd to_daemon_;
  shm::RingProducer<shm::MakeRequest, shm::kPythonRingCapacity> requests_;
  shm::RingConsumer<shm::MakeAnswer, shm::kPythonRingCapacity> answers_;

  absl::Status broken_;
  uint64_t sequence_ = 0;  // of the last request
  std::deque<shm::MakeRequest> in_hand_;
  // Of the oldest request.
  uint64_t needed_ = 0;      // the bytes that it awaits room for; 0: none
  uint32_t room_asked_ = 0;  // how often
  bool is_refused_ = false;
};

}  // namespace penstock::pyworkers
