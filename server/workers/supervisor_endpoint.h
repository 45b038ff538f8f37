// The daemon's end of one channel. Made for one worker process and never used for another.
//
// Owned by the queue while its worker lives, and besides by the queue's reader thread while that
// reads a sample into it, which may outlast the worker. The reader thread pushes, the runner's
// thread pops; the arena is guarded by the queue's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "server/workers/arena.h"
#include "server/workers/channel.h"

namespace penstock::workers {

class SupervisorEndpoint {
 public:
  struct Options {
    uint64_t arena_bytes = 0;   // a multiple of 4096, at least limits.max_bytes
    uint64_t memory_bytes = 0;  // that the worker may allocate
    decode::SampleLimits limits;
  };
  // Shared by the queue and its reader thread, as said above.
  static absl::StatusOr<std::shared_ptr<SupervisorEndpoint>> Make(const Options& options);

  // What the worker process inherits.
  const posix::Fd& memory() const { return memory_; }
  const posix::Fd& work_notifier() const { return work_notifier_.receiver; }
  const posix::Fd& done_event() const { return done_event_; }

  InputArena& arena() { return arena_; }
  std::span<std::byte> Input(uint64_t offset, uint64_t bytes) const;

  // Reader thread. Gives the request its sequence; the number of requests that are not answered
  // never exceeds kRingCapacity. False when the worker broke the ring.
  bool Push(DecodeRequest& request);
  void WakeWorker();

  // Runner's thread.
  shm::RingOutcome Pop(Completion& completion) { return completions_.Pop(completion); }
  void AnnounceSleep() { FallAsleep(channel().daemon_asleep); }

  // Any thread. What the worker claims.
  uint64_t started() const { return channel().started.load(std::memory_order_acquire); }
  uint64_t busy_ns() const { return channel().busy_ns.load(std::memory_order_relaxed); }
  bool ready() const { return channel().ready.load(std::memory_order_acquire) != 0; }

 private:
  SupervisorEndpoint(const Options& options, posix::Fd memory, posix::Mapping mapping);
  Channel& channel() const { return *reinterpret_cast<Channel*>(mapping_.data()); }

  posix::Fd memory_;
  posix::Notifier
      work_notifier_;  // the worker has its listening end, and may do what it likes with it
  posix::Fd done_event_;
  posix::Mapping mapping_;
  InputArena arena_;
  uint64_t arena_bytes_;
  shm::RingProducer<DecodeRequest, kRingCapacity> requests_;
  shm::RingConsumer<Completion, kRingCapacity> completions_;
};

}  // namespace penstock::workers
