#include "server/workers/program/worker_endpoint.h"

#include <poll.h>

#include <algorithm>

#include "common/posix/failpoint.h"

namespace penstock::workers {
namespace {

absl::Status NotOurs(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("penstock-worker is started by penstockd of the same version only: ", what));
}

}  // namespace

absl::StatusOr<WorkerEndpoint> WorkerEndpoint::Open() {
  const posix::Fd memory(kChannelNumber);
  posix::Fd work(kWorkNumber), done(kDoneNumber);
  const auto bytes = posix::SizeOf(memory);
  if (!bytes.ok() || *bytes < kArenaOffset) return NotOurs("it has no channel");
  PENSTOCK_ASSIGN_OR_RETURN(posix::Mapping mapping,
                            posix::Mapping::Map(memory, *bytes, posix::Access::kReadWrite));
  const auto& channel = *reinterpret_cast<const Channel*>(mapping.data());
  if (channel.magic != kChannelMagic) return NotOurs("descriptor 4 is not a channel");
  if (channel.version != kChannelVersion) {
    return NotOurs(
        absl::StrCat("its channel has version ", channel.version, ", not ", kChannelVersion));
  }
  if (channel.arena_bytes != *bytes - kArenaOffset) return NotOurs("its channel is truncated");
  return WorkerEndpoint(std::move(mapping), std::move(work), std::move(done));
}

WorkerEndpoint::WorkerEndpoint(posix::Mapping mapping, posix::Fd work, posix::Fd done)
    : mapping_(std::move(mapping)),
      work_notifier_(std::move(work)),
      done_event_(std::move(done)),
      requests_(channel().requests),
      completions_(channel().completions) {}

absl::StatusOr<std::optional<DecodeRequest>> WorkerEndpoint::Next() {
  DecodeRequest request;
  switch (requests_.Pop(request)) {
    case shm::RingOutcome::kDone:
      return std::optional<DecodeRequest>(request);
    case shm::RingOutcome::kWait:
      return std::optional<DecodeRequest>();
    case shm::RingOutcome::kBroken:
      break;
  }
  return absl::InternalError("the request ring is corrupt");
}

void WorkerEndpoint::AnnounceSleep() {
  if (announcements_.Take()) NotifyDaemon();
  shm::FallAsleep(channel().worker_asleep);
}

bool WorkerEndpoint::Sleep(const posix::Fd& socket) {
  // Needs no time-out: the socket closes when the daemon ends, for whatever reason.
  pollfd entries[2] = {{.fd = work_notifier_.get(), .events = POLLIN, .revents = 0},
                       {.fd = socket.get(), .events = POLLIN, .revents = 0}};
  ::poll(entries, 2, -1);
  posix::DrainNotifications(work_notifier_);
  return entries[1].revents != 0;
}

void WorkerEndpoint::Begin(const DecodeRequest& request) {
  channel().started.store(request.sequence, std::memory_order_release);
}

absl::StatusOr<std::span<std::byte>> WorkerEndpoint::Input(const DecodeRequest& request) const {
  const size_t arena_bytes = mapping_.size() - kArenaOffset;
  if (request.input_offset > arena_bytes ||
      request.input_bytes > arena_bytes - request.input_offset) {
    return absl::InternalError(absl::StrCat("input of ", request.input_bytes, " bytes at ",
                                            request.input_offset, " in an arena of ", arena_bytes));
  }
  return mapping_.bytes().subspan(kArenaOffset + request.input_offset, request.input_bytes);
}

absl::Status WorkerEndpoint::Finish(const DecodeRequest& request,
                                    const RequestServer::Served& served, const Spent& spent) {
  const uint64_t busy_ns = spent.ended_ns - spent.began_ns;
  channel().busy_ns.fetch_add(busy_ns, std::memory_order_relaxed);
  const Completion completion{
      .sequence = request.sequence,
      .fault = served.fault,
      .decode_us = static_cast<uint32_t>(std::min<uint64_t>(busy_ns / 1000, UINT32_MAX)),
      .ended_ns = spent.ended_ns,
      .row = served.row,
      .checkpoint_bytes = served.checkpoint_bytes,
      .image_bytes = served.image_bytes};
  if (completions_.Push(completion) != shm::RingOutcome::kDone) {
    return absl::InternalError("the completion ring is corrupt");
  }
  PENSTOCK_FAILPOINT("worker_program.row_reported");
  if (announcements_.Note(std::chrono::nanoseconds(busy_ns))) NotifyDaemon();
  return absl::OkStatus();
}

void WorkerEndpoint::NotifyDaemon() {
  if (shm::EndSleep(channel().daemon_asleep)) posix::NotifyEvent(done_event_);
}

}  // namespace penstock::workers
