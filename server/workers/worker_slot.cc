#include "server/workers/worker_slot.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace penstock::workers {

WorkerQueue::InHandEnds EndOf(Verdict verdict, const posix::Exit& exit) {
  switch (verdict) {
    case Verdict::kTimedOut:
      return {.kind = OutcomeKind::kStrike, .fault = base::Fault::kTimeout};
    case Verdict::kBroken:
      return {.kind = OutcomeKind::kStrike, .fault = base::Fault::kWorkerCrashed};
    case Verdict::kNotReady:
    case Verdict::kDoesNotRead:
    case Verdict::kNotSent:
    case Verdict::kCrowded:
      return {.kind = OutcomeKind::kLost};
    case Verdict::kNone:
      break;
  }
  if (exit.signalled && exit.code == SIGKILL) return {.kind = OutcomeKind::kLost};
  return {.kind = OutcomeKind::kStrike, .fault = base::Fault::kWorkerCrashed};
}

bool IsBlameless(Verdict verdict) {
  return verdict == Verdict::kNotSent || verdict == Verdict::kCrowded;
}

std::string Describe(Verdict verdict, const posix::Exit& exit) {
  switch (verdict) {
    case Verdict::kNotReady:
      return "killed because it was not ready in time";
    case Verdict::kTimedOut:
      return "killed because it took too long";
    case Verdict::kBroken:
      return "killed because it broke its channel";
    case Verdict::kDoesNotRead:
      return "killed because it did not read its socket";
    case Verdict::kNotSent:
      return "replaced because the system took no message for it";
    case Verdict::kCrowded:
      return "replaced because reads that do not come back leave no room for its input";
    case Verdict::kNone:
      break;
  }
  if (!exit.signalled) return absl::StrCat("ended with exit code ", exit.code);
  const char* name = ::sigdescr_np(exit.code);
  return absl::StrCat("killed by signal ", exit.code, " (", name == nullptr ? "?" : name, ")");
}

absl::Status NoThread() {
  return absl::ResourceExhaustedError(
      "the system gives no thread to read for a worker; raise the limit on threads (ulimit -u, "
      "TasksMax)");
}

void Supervisor::UserWorker::Ended(const std::vector<Outcome>& outcomes, size_t from) {
  for (size_t i = from; i < outcomes.size(); ++i)
    std::erase_if(given, [&](const Given& each) { return each.id == outcomes[i].id; });
}

void Supervisor::WorkerSlot::NoteBusy() {
  if (user_worker == nullptr || !user_worker->worker) return;
  const uint64_t said = user_worker->worker->link().busy_ns();
  busy_ns += said - std::min(said, user_worker->seen_busy_ns);
  user_worker->seen_busy_ns = said;
}

void Utilisation::Update(base::TimePoint now, uint64_t busy_ns) {
  const base::Duration passed = now - since_;
  if (passed < std::chrono::seconds(1)) return;
  // The workers' own count: a nonsensical one gives a wrong figure between 0 and 1, and no more.
  const double spent = busy_ns >= busy_ns_ ? static_cast<double>(busy_ns - busy_ns_) : 0;
  value_ = std::clamp(spent / static_cast<double>(passed.count()), 0.0, 1.0);
  since_ = now;
  busy_ns_ = busy_ns;
}

}  // namespace penstock::workers
