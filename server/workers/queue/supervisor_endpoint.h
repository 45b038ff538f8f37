// The daemon's end of one channel. Each worker process has its own.
//
// **Ownership**: shared by the queue, while its worker lives, and by the queue's reader thread,
// while it reads a sample into the arena, which may take longer than the worker lives.
// **Thread safety**: the reader thread pushes, the runner's thread pops. The queue's lock guards
// the arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "common/shm/sleep.h"
#include "server/workers/queue/arena.h"
#include "server/workers/queue/channel.h"

namespace penstock::workers {

class SupervisorEndpoint {
 public:
  struct Options {
    uint64_t arena_bytes = 0;   // a multiple of 4096, at least limits.max_bytes
    uint64_t memory_bytes = 0;  // limit for the worker's allocations
    decode::SampleLimits limits;
    SandboxMode sandbox = SandboxMode::kOn;
  };
  // The pointer is shared as described above.
  static absl::StatusOr<std::shared_ptr<SupervisorEndpoint>> Make(const Options& options);

  // The descriptors that the worker process inherits.
  const posix::Fd& memory() const { return memory_; }
  const posix::Fd& work_notifier() const { return work_notifier_.receiver; }
  const posix::Fd& done_event() const { return done_event_; }

  InputArena& arena() { return arena_; }
  uint64_t arena_bytes() const { return arena_bytes_; }
  std::span<std::byte> Input(uint64_t offset, uint64_t bytes) const;

  // Reader thread only. Sets the request's sequence. **Requires**: fewer than kRingCapacity
  // requests are unanswered. Returns false if the worker corrupted the ring.
  bool Push(DecodeRequest& request);
  void WakeWorker();

  // Runner's thread only.
  shm::RingOutcome Pop(Completion& completion) { return completions_.Pop(completion); }
  void AnnounceSleep() { shm::FallAsleep(channel().daemon_asleep); }

  // Any thread. Claimed by the worker, so not to be trusted.
  uint64_t started() const { return channel().started.load(std::memory_order_acquire); }
  uint64_t busy_ns() const { return channel().busy_ns.load(std::memory_order_relaxed); }
  bool ready() const { return channel().ready.load(std::memory_order_acquire) != 0; }

 private:
  SupervisorEndpoint(const Options& options, posix::Fd memory, posix::Mapping mapping);
  Channel& channel() const { return *reinterpret_cast<Channel*>(mapping_.data()); }

  posix::Fd memory_;
  posix::Notifier work_notifier_;  // the worker has the receiving end, and may do anything with it
  posix::Fd done_event_;
  posix::Mapping mapping_;
  InputArena arena_;
  uint64_t arena_bytes_;
  shm::RingProducer<DecodeRequest, kRingCapacity> requests_;
  shm::RingConsumer<Completion, kRingCapacity> completions_;
};

}  // namespace penstock::workers
