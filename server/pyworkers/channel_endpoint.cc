#include "server/pyworkers/channel_endpoint.h"

#include <new>
#include <utility>

#include "common/base/check.h"
#include "common/posix/failpoint.h"

namespace penstock::pyworkers {

absl::StatusOr<ChannelEndpoint> ChannelEndpoint::Make(const Worker& worker) {
  PENSTOCK_FAILPOINT_RETURN("python.channel");
  PENSTOCK_ASSIGN_OR_RETURN(posix::Fd memory, posix::MakeMemory("penstock-make", kBytes));
  PENSTOCK_ASSIGN_OR_RETURN(posix::Mapping mapping,
                            posix::Mapping::Map(memory, kBytes, posix::Access::kReadWrite));
  auto* channel = new (mapping.data()) shm::PythonChannel();
  channel->magic = shm::kPythonChannelMagic;
  channel->version = shm::kPythonChannelVersion;
  channel->place = worker.place;
  channel->start = worker.start;
  ChannelEndpoint endpoint(std::move(mapping));
  endpoint.memory_ = std::move(memory);
  PENSTOCK_ASSIGN_OR_RETURN(endpoint.to_worker_, posix::MakeNotifier());
  PENSTOCK_ASSIGN_OR_RETURN(endpoint.to_daemon_, posix::MakeEvent());
  return endpoint;
}

ChannelEndpoint::ChannelEndpoint(posix::Mapping mapping)
    : mapping_(std::move(mapping)), requests_(channel().requests), answers_(channel().answers) {}

absl::Status ChannelEndpoint::Push(const shm::MakeRequest& request) {
  PENSTOCK_CHECK(in_hand_.size() < kMaxInHand);
  shm::MakeRequest& pushed = in_hand_.emplace_back(request);
  pushed.sequence = ++sequence_;
  pushed.kind = shm::MakeKind::kMake;
  return Send(pushed);
}

absl::Status ChannelEndpoint::GiveRoom(uint64_t granted) {
  PENSTOCK_CHECK(awaits_room());
  shm::MakeRequest& oldest = in_hand_.front();
  PENSTOCK_CHECK(granted >= oldest.granted);
  oldest.granted = granted;
  is_refused_ = granted < needed_;
  needed_ = 0;
  shm::MakeRequest room = oldest;
  room.kind = shm::MakeKind::kRoom;
  return Send(room);
}

absl::Status ChannelEndpoint::Send(const shm::MakeRequest& request) {
  PENSTOCK_RETURN_IF_ERROR(broken_);
  // Never full unless the worker took back requests that it had taken: at most kMaxInHand and one
  // kRoom wait.
  if (requests_.Push(request) != shm::RingOutcome::kDone) {
    broken_ = absl::DataLossError("the counter of requests that were taken is impossible");
    return broken_;
  }
  if (shm::EndSleep(channel().worker_asleep)) posix::Notify(to_worker_.sender);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<shm::MakeAnswer>> ChannelEndpoint::Pop() {
  PENSTOCK_RETURN_IF_ERROR(broken_);
  shm::MakeAnswer answer;
  const shm::RingOutcome outcome = answers_.Pop(answer);
  if (outcome == shm::RingOutcome::kWait) return std::nullopt;
  broken_ = outcome == shm::RingOutcome::kDone
                ? Check(answer)
                : absl::DataLossError("the counter of answers is impossible");
  PENSTOCK_RETURN_IF_ERROR(broken_);
  if (answer.outcome == shm::MakeOutcome::kNeedsRoom) {
    needed_ = answer.bytes;
    ++room_asked_;
  } else {
    in_hand_.pop_front();
    room_asked_ = 0;
    is_refused_ = false;
  }
  return answer;
}

absl::Status ChannelEndpoint::Check(const shm::MakeAnswer& answer) const {
  if (in_hand_.empty()) return absl::DataLossError("an answer although no batch is in hand");
  const shm::MakeRequest& oldest = in_hand_.front();
  if (answer.sequence != oldest.sequence) {
    return absl::DataLossError(absl::StrCat("an answer to batch ", answer.sequence, ", expected ",
                                            oldest.sequence, ", the oldest"));
  }
  if (awaits_room()) return absl::DataLossError("an answer before room was given");
  switch (answer.outcome) {
    case shm::MakeOutcome::kRaised:
      if (answer.row > oldest.rows) {
        return absl::DataLossError(
            absl::StrCat("an exception at row ", answer.row, ", expected at most ", oldest.rows));
      }
      [[fallthrough]];
    case shm::MakeOutcome::kDone:
      if (answer.bytes >= 1 && answer.bytes <= oldest.granted) return absl::OkStatus();
      return absl::DataLossError(
          absl::StrCat("a batch of ", answer.bytes, " bytes, expected 1 to ", oldest.granted));
    case shm::MakeOutcome::kNeedsRoom:
      return CheckNeed(answer);
  }
  return absl::DataLossError(
      absl::StrCat("an outcome ", static_cast<uint32_t>(answer.outcome), ", expected 1 to 3"));
}

absl::Status ChannelEndpoint::CheckNeed(const shm::MakeAnswer& answer) const {
  if (is_refused_) return absl::DataLossError("a need for room that was refused already");
  if (room_asked_ == kMaxRoomAsked) {
    return absl::DataLossError(
        absl::StrCat("more needs for room than ", kMaxRoomAsked, ", the most of a batch"));
  }
  if (answer.bytes > in_hand_.front().granted) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("a need for ", answer.bytes, " bytes, although ",
                                          in_hand_.front().granted, " are granted"));
}

void ChannelEndpoint::AwaitNotification() {
  posix::Drain(to_daemon_);
  shm::FallAsleep(channel().daemon_asleep);
}

bool ChannelEndpoint::has_started_oldest() const {
  return !in_hand_.empty() &&
         channel().started.load(std::memory_order_acquire) == in_hand_.front().sequence;
}

std::optional<uint32_t> ChannelEndpoint::row_in_hand() const {
  if (!has_started_oldest()) return std::nullopt;
  const shm::MakeRequest& oldest = in_hand_.front();
  const uint32_t row = shm::RowInHand(progress(), oldest.sequence, oldest.rows);
  return row < oldest.rows ? std::optional(row) : std::nullopt;
}

}  // namespace penstock::pyworkers
