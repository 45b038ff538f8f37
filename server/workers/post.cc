#include "server/workers/post.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace penstock::workers {

Lane::InHandEnds EndOf(Verdict verdict, const posix::Exit& exit) {
  switch (verdict) {
    case Verdict::kTimedOut:
      return {.kind = OutcomeKind::kStrike, .fault = base::Fault::kTimeout};
    case Verdict::kBroken:
      return {.kind = OutcomeKind::kStrike, .fault = base::Fault::kWorkerCrashed};
    case Verdict::kNotReady:
    case Verdict::kDoesNotRead:
    case Verdict::kCrowded:
      return {.kind = OutcomeKind::kLost};
    case Verdict::kNone:
      break;
  }
  if (exit.signalled && exit.code == SIGKILL) return {.kind = OutcomeKind::kLost};
  return {.kind = OutcomeKind::kStrike, .fault = base::Fault::kWorkerCrashed};
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
    case Verdict::kCrowded:
      return "replaced because reads that do not come back leave no room for its input";
    case Verdict::kNone:
      break;
  }
  if (!exit.signalled) return absl::StrCat("ended with exit code ", exit.code);
  const char* name = ::sigdescr_np(exit.code);
  return absl::StrCat("killed by signal ", exit.code, " (", name == nullptr ? "?" : name, ")");
}

void Utilisation::Update(base::TimePoint now, uint64_t busy_ns) {
  const base::Duration passed = now - since_;
  if (passed < std::chrono::seconds(1)) return;
  // The worker's own count: a nonsensical one gives a wrong figure between 0 and 1, and no more.
  const double spent = busy_ns >= busy_ns_ ? static_cast<double>(busy_ns - busy_ns_) : 0;
  value_ = std::clamp(spent / static_cast<double>(passed.count()), 0.0, 1.0);
  since_ = now;
  busy_ns_ = busy_ns;
}

}  // namespace penstock::workers
