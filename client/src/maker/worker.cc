#include "client/src/maker/worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "client/src/connection/greet.h"
#include "client/src/maker/request_check.h"
#include "client/src/maker/signals.h"
#include "common/base/units.h"
#include "common/shm/sleep.h"

namespace penstock::client {
namespace {

absl::Status NothingInHand() {
  return absl::FailedPreconditionError("no batch is in hand; call Next first");
}

}  // namespace

absl::Status EndWithHost(pid_t host) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    return base::ErrnoStatus(errno, "asking the kernel to end this process with its host");
  }
  // It may have ended before the call.
  if (::getppid() == host) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the host, process ", host, ", has ended"));
}

MakerWorker::MakerWorker(Entrance entrance)
    : entrance_(std::move(entrance)), requests_(channel().requests), answers_(channel().answers) {}

absl::StatusOr<std::unique_ptr<MakerWorker>> MakerWorker::Enter(const std::string& address,
                                                                const HostToken& token,
                                                                PlaceStart at,
                                                                base::Duration timeout) {
  shm::DoorwayWorker handshake{};
  handshake.header = MakeHeader(shm::DoorwayKind::kWorker);
  std::copy(token.begin(), token.end(), handshake.token);
  handshake.place = at.place;
  handshake.start = at.start;
  PENSTOCK_ASSIGN_OR_RETURN(
      Entrance entrance,
      EnterAsMaker(address, std::as_bytes(std::span(&handshake, 1)), shm::DoorwayKind::kChannel,
                   sizeof(shm::PythonChannel), timeout));
  std::unique_ptr<MakerWorker> worker(new MakerWorker(std::move(entrance)));
  PENSTOCK_RETURN_IF_ERROR(CheckChannel(worker->channel(), at));
  return worker;
}

void MakerWorker::Ready() {
  channel().ready.store(1, std::memory_order_release);
  WakeDaemon(entrance_.to_daemon);
}

absl::StatusOr<BatchToMake> MakerWorker::Next(base::TimePoint deadline) {
  PENSTOCK_RETURN_IF_ERROR(broken_);
  if (in_hand_) {
    return absl::FailedPreconditionError(absl::StrCat("batch ", in_hand_->request.sequence,
                                                      " is in hand; call Done or Raised first"));
  }
  // Also if a request is waiting, because segments may have been withdrawn.
  PENSTOCK_RETURN_IF_ERROR(ReadDoorway());
  interrupted_ = false;
  PENSTOCK_ASSIGN_OR_RETURN(const shm::MakeRequest request, Await(makes_, deadline));
  absl::StatusOr<BatchToMake> batch = Take(request);
  if (!batch.ok()) return Break(batch.status());
  return batch;
}

absl::StatusOr<BatchToMake> MakerWorker::Take(const shm::MakeRequest& request) {
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<const posix::Mapping> memory,
                            AwaitSegment(request.segment));
  PENSTOCK_RETURN_IF_ERROR(CheckBatch(request, memory->size()));
  in_hand_ = {.request = request, .memory = std::move(memory), .since = base::Now()};
  channel().started.store(request.sequence, std::memory_order_release);
  const std::byte* ids = in_hand_->memory->data() + request.slot_offset + request.ids_offset;
  return BatchToMake{.sequence = request.sequence,
                     .ids = {reinterpret_cast<const uint64_t*>(ids), request.rows},
                     .room = room(),
                     .most = request.most,
                     .attempt = request.attempt,
                     .epoch = request.epoch,
                     .seed = request.seed,
                     .key_first = request.key_first,
                     .key_step = request.key_step,
                     .stream = request.stream};
}

std::span<std::byte> MakerWorker::room() const {
  if (!in_hand_) return {};
  const shm::MakeRequest& request = in_hand_->request;
  return in_hand_->memory->bytes().subspan(request.slot_offset + request.data_offset,
                                           request.granted);
}

void MakerWorker::SetRow(uint32_t row) {
  if (!in_hand_) return;
  channel().row.store(shm::PackRow(in_hand_->request.sequence, row), std::memory_order_release);
}

absl::StatusOr<std::span<std::byte>> MakerWorker::AskForRoom(uint64_t bytes,
                                                             base::TimePoint deadline) {
  PENSTOCK_RETURN_IF_ERROR(broken_);
  if (!in_hand_) return NothingInHand();
  shm::MakeRequest& request = in_hand_->request;
  if (bytes <= request.granted) return room();
  if (bytes > request.most) return TooLarge(request, bytes);
  in_hand_->asks_for_room = true;
  PENSTOCK_RETURN_IF_ERROR(Answer(shm::MakeOutcome::kNeedsRoom, request.rows, bytes));
  absl::StatusOr<shm::MakeRequest> answer = Await(rooms_, deadline);
  if (!answer.ok()) return Break(answer.status());
  in_hand_->asks_for_room = false;
  request.granted = answer->granted;
  if (request.granted < bytes) return NoRoom(request, bytes);
  return room();
}

absl::Status MakerWorker::Done(uint64_t bytes) { return Finish(shm::MakeOutcome::kDone, 0, bytes); }

absl::Status MakerWorker::Raised(uint32_t row, uint64_t bytes) {
  return Finish(shm::MakeOutcome::kRaised, row, bytes);
}

absl::Status MakerWorker::Finish(shm::MakeOutcome outcome, uint32_t row, uint64_t bytes) {
  PENSTOCK_RETURN_IF_ERROR(broken_);
  if (!in_hand_) return NothingInHand();
  const shm::MakeRequest& request = in_hand_->request;
  if (bytes == 0 || bytes > request.granted) {
    return absl::InvalidArgumentError(absl::StrCat("a batch of ", bytes, " bytes, expected 1 to ",
                                                   request.granted,
                                                   "; call AskForRoom before writing more"));
  }
  if (row > request.rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("row ", row, " of a batch of ", request.rows, " rows"));
  }
  PENSTOCK_RETURN_IF_ERROR(Answer(outcome, row, bytes));
  in_hand_.reset();
  return absl::OkStatus();
}

absl::Status MakerWorker::Answer(shm::MakeOutcome outcome, uint32_t row, uint64_t bytes) {
  const base::TimePoint now = base::Now();
  const base::Duration took = now - in_hand_->since;
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
  const shm::MakeAnswer answer{
      .sequence = in_hand_->request.sequence,
      .outcome = outcome,
      .row = row,
      .bytes = bytes,
      .made_us = static_cast<uint32_t>(std::clamp<int64_t>(us, 0, UINT32_MAX)),
      .reserved = 0,
      .ended_ns = static_cast<uint64_t>(now.time_since_epoch().count()),
      .reserved_too = 0};
  if (outcome != shm::MakeOutcome::kNeedsRoom) {
    channel().busy_ns.fetch_add(static_cast<uint64_t>(took.count()), std::memory_order_relaxed);
  }
  // The daemon has at most as many requests with us as the ring has entries.
  if (answers_.Push(answer) != shm::RingOutcome::kDone) {
    return Break(absl::InternalError("the daemon broke the channel's ring of answers"));
  }
  if (shm::EndSleep(channel().daemon_asleep)) WakeDaemon(entrance_.to_daemon);
  return absl::OkStatus();
}

absl::Status MakerWorker::Break(absl::Status why) {
  if (broken_.ok()) broken_ = std::move(why);
  return broken_;
}

absl::Status MakerWorker::ReadDoorway() {
  for (;;) {
    absl::StatusOr<posix::Message> message =
        posix::Receive(entrance_.socket, shm::kMaxDoorwayBytes, base::Duration::zero());
    if (absl::IsDeadlineExceeded(message.status())) return absl::OkStatus();
    const absl::Status status =
        message.ok() ? segments_.Understand(*std::move(message)) : message.status();
    if (!status.ok()) return Break(status);
  }
}

absl::StatusOr<std::shared_ptr<const posix::Mapping>> MakerWorker::AwaitSegment(uint32_t id) {
  const base::TimePoint deadline = base::Now() + kSegmentPatience;
  while (!segments_.Has(id) && base::Now() < deadline) {
    pollfd entry = Readable(entrance_.socket);
    PENSTOCK_RETURN_IF_ERROR(WaitForAny({&entry, 1}, deadline));
    PENSTOCK_RETURN_IF_ERROR(ReadDoorway());
  }
  if (segments_.Has(id)) return segments_.Map(id);
  return absl::InternalError(
      absl::StrCat("the daemon asks for a batch in segment ", id, ", but did not send it"));
}

absl::Status MakerWorker::PopRequests() {
  for (;;) {
    shm::MakeRequest request;
    const shm::RingOutcome outcome = requests_.Pop(request);
    if (outcome == shm::RingOutcome::kWait) return absl::OkStatus();
    if (outcome == shm::RingOutcome::kBroken) {
      return Break(absl::InternalError("the daemon broke the channel's ring of requests"));
    }
    if (absl::Status status = Accept(request); !status.ok()) return Break(std::move(status));
  }
}

// A batch may be asked for while another one waits for room.
absl::Status MakerWorker::Accept(const shm::MakeRequest& request) {
  if (makes_.size() + rooms_.size() >= shm::kPythonRingCapacity) {
    return absl::InternalError(absl::StrCat("the daemon asks for more than ",
                                            shm::kPythonRingCapacity, " batches at once"));
  }
  if (request.kind == shm::MakeKind::kRoom) {
    const bool asked = in_hand_ && in_hand_->asks_for_room && rooms_.empty();
    if (!asked) return absl::InternalError("the daemon grants room that nobody asked for");
    PENSTOCK_RETURN_IF_ERROR(CheckRoom(request, in_hand_->request));
    rooms_.push_back(request);
    return absl::OkStatus();
  }
  PENSTOCK_RETURN_IF_ERROR(CheckOrder(request, last_sequence_));
  last_sequence_ = request.sequence;
  makes_.push_back(request);
  return absl::OkStatus();
}

// Announces the sleep before it looks at the ring for the last time, so that no push is missed.
absl::StatusOr<shm::MakeRequest> MakerWorker::Await(std::deque<shm::MakeRequest>& kept,
                                                    base::TimePoint deadline) {
  for (bool announced = false;; announced = !announced) {
    PENSTOCK_RETURN_IF_ERROR(PopRequests());
    if (!kept.empty()) {
      const shm::MakeRequest request = kept.front();
      kept.pop_front();
      return request;
    }
    if (!announced) {
      shm::FallAsleep(channel().worker_asleep);
    } else if (base::Now() >= deadline || (interrupted_ && &kept == &makes_)) {
      return absl::DeadlineExceededError("the daemon asks for nothing");
    } else {
      PENSTOCK_RETURN_IF_ERROR(Sleep(deadline));
    }
  }
}

absl::Status MakerWorker::Sleep(base::TimePoint deadline) {
  pollfd entries[] = {Readable(entrance_.to_us), Readable(entrance_.socket)};
  PENSTOCK_RETURN_IF_ERROR(WaitForAny(entries, deadline));
  interrupted_ = entries[0].revents == 0 && entries[1].revents == 0;
  if (entries[0].revents != 0) {
    if (absl::Status status = ClearEvent(entrance_.to_us); !status.ok()) return Break(status);
  }
  return entries[1].revents != 0 ? ReadDoorway() : absl::OkStatus();
}

}  // namespace penstock::client
