#include "server/feed/engine/worker_count.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/pace.h"
#include "common/telemetry/log.h"

namespace penstock::feed {
namespace {

constexpr base::Duration kAskEvery = std::chrono::milliseconds(100);

}  // namespace

absl::StatusOr<uint32_t> WorkerCount::Set(uint32_t count) {
  if (count == 0) return absl::InvalidArgumentError("0 workers; wanted 1 to 1024");
  const uint32_t before = workers_.count();
  PENSTOCK_RETURN_IF_ERROR(workers_.SetCount(count));
  demand_.reset();  // an explicit number turns auto off
  return before;
}

bool WorkerCount::IsDue(base::TimePoint now) const {
  return demand_.has_value() && now - asked_ >= kAskEvery;
}

void WorkerCount::Follow(const std::vector<FlowFigures>& feeds, const Busy& workers,
                         base::TimePoint now) {
  asked_ = now;
  WorkerDemand::Seen seen = {
      .workers = workers_.count(), .busy = workers.on_average, .busy_lately = workers.lately};
  for (const FlowFigures& figures : feeds) {
    seen.anybody_starves |= figures.has_data && figures.starved >= base::kHeldUp;
    seen.starving = std::max(seen.starving, figures.starving);
    seen.more_wanted = std::max(seen.more_wanted, Judge(figures).more_workers);
  }
  if (const auto change = demand_->Ask(seen, now)) Change(*change);
}

void WorkerCount::Change(const WorkerDemand::Change& change) {
  const uint32_t before = workers_.count();
  if (const absl::Status set = workers_.SetCount(change.workers); !set.ok()) {
    PENSTOCK_LOG(kWarning, "workers_not_changed", {"from", before}, {"to", change.workers},
                 {"reason", set.message()});
    return;
  }
  PENSTOCK_LOG(kInfo, "workers_changed", {"from", before}, {"to", change.workers},
               {"reason", change.reason});
}

std::string WorkerCount::policy() const {
  if (!demand_) return "fixed";
  return absl::StrCat("auto, 1 to ", demand_->options().most);
}

}  // namespace penstock::feed
