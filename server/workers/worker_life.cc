#include "server/workers/worker_life.h"

#include <signal.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace penstock::workers {

bool IsForbiddenCall(const posix::Exit& exit) { return exit.signalled && exit.code == SIGSYS; }

WorkerQueue::InHandEnds EndOf(KillReason reason, const posix::Exit& exit) {
  if (IsForbiddenCall(exit))
    return {.kind = OutcomeKind::kStrike, .fault = base::Fault::kForbiddenCall};
  switch (reason) {
    case KillReason::kTimedOut:
      return {.kind = OutcomeKind::kStrike, .fault = base::Fault::kTimeout};
    case KillReason::kBroken:
      return {.kind = OutcomeKind::kStrike, .fault = base::Fault::kWorkerCrashed};
    case KillReason::kNotReady:
    case KillReason::kDoesNotRead:
    case KillReason::kNotSent:
    case KillReason::kCrowded:
      return {.kind = OutcomeKind::kLost};
    case KillReason::kNone:
      break;
  }
  if (exit.signalled && exit.code == SIGKILL) return {.kind = OutcomeKind::kLost};
  return {.kind = OutcomeKind::kStrike, .fault = base::Fault::kWorkerCrashed};
}

bool IsBlameless(KillReason reason) {
  return reason == KillReason::kNotSent || reason == KillReason::kCrowded;
}

std::string Describe(KillReason reason, const posix::Exit& exit) {
  if (IsForbiddenCall(exit))
    return absl::StrCat("killed by its sandbox (signal ", SIGSYS,
                        "), because it made a forbidden system call");
  switch (reason) {
    case KillReason::kNotReady:
      return "killed because it was not ready in time";
    case KillReason::kTimedOut:
      return "killed because it took too long";
    case KillReason::kBroken:
      return "killed because it corrupted its channel";
    case KillReason::kDoesNotRead:
      return "killed because it did not read its socket";
    case KillReason::kNotSent:
      return "replaced because it could not be sent a message";
    case KillReason::kCrowded:
      return "replaced because blocked reads leave no room for its input";
    case KillReason::kNone:
      break;
  }
  return posix::Describe(exit);
}

bool WorkerLife::AreAnswersEnough(uint64_t notified, uint64_t ended) {
  const uint64_t answers = unused_answers_ + ended;
  unused_answers_ = answers - std::min(answers, notified);
  return notified <= answers;
}

bool WorkerLife::Condemn(KillReason reason) {
  if (is_condemned()) return false;
  kill_reason_ = reason;
  return true;
}

bool WorkerLife::CheckTimeOuts(base::TimePoint now, bool claims_ready,
                               std::optional<base::TimePoint> oldest_since,
                               const TimeOuts& time_outs) {
  if (is_condemned()) return false;
  if (!started_at_) started_at_ = now;
  if (claims_ready) NoteReady(now);
  if (!was_ready()) return now - *started_at_ > time_outs.start && Condemn(KillReason::kNotReady);
  // The time-out includes the wait of an item that the worker has not started, because a stopped
  // worker starts nothing. For items sent before the worker was ready, it begins when it is ready.
  const bool in_time =
      !oldest_since || now - std::max(*oldest_since, *ready_at_) <= time_outs.sample;
  return !in_time && Condemn(KillReason::kTimedOut);
}

}  // namespace penstock::workers
