#include "server/indexer/program/answer.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "common/posix/failpoint.h"
#include "server/indexer/program/questions.h"

namespace penstock::indexer {
namespace {

constexpr std::chrono::hours kForever(24 * 365);

}  // namespace

absl::StatusOr<posix::Message> DaemonLine::Next() const {
  return posix::Receive(socket, kMostAskBytes, kForever);
}

absl::Status DaemonLine::Say(const Tell& tell) const {
  const auto bytes = std::as_bytes(std::span(&tell, 1));
  for (;;) {
    const absl::Status sent = posix::Send(socket, bytes, {});
    if (!absl::IsResourceExhausted(sent) && !absl::IsAborted(sent)) return sent;
    WaitWritable(socket);
  }
}

absl::Status Answer::Put(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (filled_ == kWindowBytes) PENSTOCK_RETURN_IF_ERROR(HandOver());
    const size_t now = std::min(bytes.size(), kWindowBytes - filled_);
    std::memcpy(line_.window.data() + filled_, bytes.data(), now);
    filled_ += now;
    bytes = bytes.subspan(now);
  }
  return absl::OkStatus();
}

absl::Status Answer::HandOver() {
  PENSTOCK_RETURN_IF_ERROR(line_.Say({.what = Tells::kPiece, .number = number_, .count = filled_}));
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Message message, line_.Next());
  PENSTOCK_ASSIGN_OR_RETURN(const Asked more, ReadAsk(message));
  if (more.ask.task != Task::kMore || more.ask.number != number_)
    return absl::InternalError("another question before the end of the answer");
  filled_ = 0;
  return absl::OkStatus();
}

absl::Status Answer::End() {
  PENSTOCK_FAILPOINT("indexer_program.answer_written");
  PENSTOCK_RETURN_IF_ERROR(
      line_.Say({.what = Tells::kLastPiece, .number = number_, .count = filled_}));
  PENSTOCK_FAILPOINT("indexer_program.answer_told");
  return absl::OkStatus();
}

void Answer::Found(uint64_t more) const {
  const Tell tell = {.what = Tells::kFound, .number = number_, .count = more};
  (void)posix::Send(line_.socket, std::as_bytes(std::span(&tell, 1)), {});
}

void Answer::Place(uint64_t offset, uint64_t bytes) const {
  // If the daemon is gone, the next thing that must reach it says so.
  line_.Say({.what = Tells::kPlace, .number = number_, .count = bytes, .offset = offset})
      .IgnoreError();
}

}  // namespace penstock::indexer
