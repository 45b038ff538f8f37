#include "server/workers/queue/supervisor_endpoint.h"

#include "common/base/check.h"

namespace penstock::workers {

absl::StatusOr<std::shared_ptr<SupervisorEndpoint>> SupervisorEndpoint::Make(
    const Options& options) {
  const size_t bytes = kArenaOffset + options.arena_bytes;
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd memory, posix::MakeMemory("penstock-channel", bytes));
  PENSTOCK_ASSIGN_OR_RETURN(posix::Mapping mapping,
                            posix::Mapping::Map(memory, bytes, posix::Access::kReadWrite));
  auto* channel = reinterpret_cast<Channel*>(mapping.data());  // everything else is 0, as intended
  channel->magic = kChannelMagic;
  channel->version = kChannelVersion;
  channel->arena_bytes = options.arena_bytes;
  channel->memory_bytes = options.memory_bytes;
  channel->limits = options.limits;
  channel->sandbox = options.sandbox;
  std::shared_ptr<SupervisorEndpoint> endpoint(
      new SupervisorEndpoint(options, std::move(memory), std::move(mapping)));
  PENSTOCK_ASSIGN_OR_RETURN(endpoint->work_notifier_, posix::MakeNotifier());
  PENSTOCK_ASSIGN_OR_RETURN(endpoint->done_event_, posix::MakeEvent());
  return endpoint;
}

SupervisorEndpoint::SupervisorEndpoint(const Options& options, posix::Fd memory,
                                       posix::Mapping mapping)
    : memory_(std::move(memory)),
      mapping_(std::move(mapping)),
      arena_(options.arena_bytes),
      arena_bytes_(options.arena_bytes),
      requests_(channel().requests),
      completions_(channel().completions) {}

std::span<std::byte> SupervisorEndpoint::Input(uint64_t offset, uint64_t bytes) const {
  PENSTOCK_CHECK(offset <= arena_bytes_ && bytes <= arena_bytes_ - offset);
  return mapping_.bytes().subspan(kArenaOffset + offset, bytes);
}

bool SupervisorEndpoint::Push(DecodeRequest& request) {
  request.sequence = requests_.pushed() + 1;
  // kWait counts too: a worker that answers a request without having taken it is broken.
  return requests_.Push(request) == shm::RingOutcome::kDone;
}

void SupervisorEndpoint::WakeWorker() {
  if (shm::EndSleep(channel().worker_asleep)) posix::Notify(work_notifier_.sender);
}

}  // namespace penstock::workers
