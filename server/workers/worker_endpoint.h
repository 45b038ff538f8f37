// The worker's end of its channel. One thread, the worker's only one. What the daemon wrote is
// checked all the same: a mistake there must not become a stray write here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "server/workers/channel.h"

namespace penstock::workers {

class WorkerEndpoint {
 public:
  // Takes the descriptors that the worker was born with. InvalidArgument when they are not a
  // channel of this version: somebody else than the daemon started us, or another version of it.
  static absl::StatusOr<WorkerEndpoint> Open();

  uint64_t memory_bytes() const { return channel().memory_bytes; }
  decode::SampleLimits limits() const { return channel().limits; }

  // Tells the daemon that requests are served from here on.
  void SayReady() { channel().ready.store(1, std::memory_order_release); }

  // The next request now, or nothing; an error when the ring is broken.
  absl::StatusOr<std::optional<DecodeRequest>> Next();
  // Before the last Next that comes before Sleep.
  void AnnounceSleep() { FallAsleep(channel().worker_asleep); }
  // Waits until there may be a request or `socket` is readable; says whether the latter.
  bool Sleep(const posix::Fd& socket);

  // The sample is in hand from here on …
  void Begin(const DecodeRequest& request);
  absl::StatusOr<std::span<const std::byte>> Input(const DecodeRequest& request) const;
  // … to here.
  struct Spent {
    uint64_t began_ns = 0, ended_ns = 0;  // by CLOCK_MONOTONIC
  };
  absl::Status Finish(const DecodeRequest& request, base::Fault fault, const Spent& spent);

 private:
  WorkerEndpoint(posix::Mapping mapping, posix::Fd work, posix::Fd done);
  Channel& channel() const { return *reinterpret_cast<Channel*>(mapping_.data()); }

  posix::Mapping mapping_;
  posix::Fd work_notifier_, done_event_;
  shm::RingConsumer<DecodeRequest, kRingCapacity> requests_;
  shm::RingProducer<Completion, kRingCapacity> completions_;
};

}  // namespace penstock::workers
