// The worker's end of its channel. It checks even what the daemon wrote, so that a bug in the
// daemon cannot make the worker write to a wrong place.
// **Thread safety**: one thread, the worker's only one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "common/shm/sleep.h"
#include "server/workers/program/request_server.h"
#include "server/workers/queue/channel.h"

namespace penstock::workers {

class WorkerEndpoint {
 public:
  // Takes over the inherited descriptors. **Errors**: InvalidArgument if they are not a channel of
  // this version, because something other than this version's daemon started the process.
  static absl::StatusOr<WorkerEndpoint> Open();

  uint64_t memory_bytes() const { return channel().memory_bytes; }
  SandboxMode sandbox() const { return channel().sandbox; }
  decode::SampleLimits limits() const { return channel().limits; }

  // Tells the daemon that this worker accepts requests.
  void SayReady() { channel().ready.store(1, std::memory_order_release); }

  // Returns the next request, or nullopt if there is none. **Errors**: the ring is corrupt.
  absl::StatusOr<std::optional<DecodeRequest>> Next();
  // Call it before the last Next that precedes Sleep.
  void AnnounceSleep();
  // Waits until there may be a request or `socket` is readable. Returns whether `socket` is.
  bool Sleep(const posix::Fd& socket);

  // Call it before decoding the sample …
  void Begin(const DecodeRequest& request);
  absl::StatusOr<std::span<std::byte>> Input(const DecodeRequest& request) const;
  // … and after it.
  struct Spent {
    uint64_t began_ns = 0, ended_ns = 0;  // by CLOCK_MONOTONIC
  };
  absl::Status Finish(const DecodeRequest& request, const RequestServer::Served& served,
                      const Spent& spent);

 private:
  WorkerEndpoint(posix::Mapping mapping, posix::Fd work, posix::Fd done);
  Channel& channel() const { return *reinterpret_cast<Channel*>(mapping_.data()); }
  void NotifyDaemon();

  posix::Mapping mapping_;
  posix::Fd work_notifier_, done_event_;
  shm::RingConsumer<DecodeRequest, kRingCapacity> requests_;
  shm::RingProducer<Completion, kRingCapacity> completions_;
  Announcements announcements_;  // of completions
};

}  // namespace penstock::workers
