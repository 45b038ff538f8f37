#include "server/feed/stats/worker_demand.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/pace.h"

namespace penstock::feed {
namespace {

constexpr double kIdle = 0.5;
// How many more than are missed right now: the ranks of one training wait for each other, too.
constexpr double kToSpare = 1.25;
// Of a trainer that sleeps more than that, it isn't known how many workers it needs.
constexpr double kMostKnown = 0.5;
// With one worker fewer, the others must not be busier than this, or it would be needed again at
// once.
constexpr double kStillEasy = 0.7;

bool OneIsTooMany(const WorkerDemand::Seen& seen) {
  if (seen.workers <= 1 || seen.anybody_starves || seen.busy >= kIdle) return false;
  return seen.busy * seen.workers / (seen.workers - 1) < kStillEasy;
}

// A trainer that has slept in the last moment cannot wait for the figures to settle.
bool IsUrgent(const WorkerDemand::Seen& seen) {
  return seen.starving >= base::kHeldUp && seen.busy_lately >= base::kBusy;
}

// At most twice as many.
uint32_t More(const WorkerDemand::Seen& seen) {
  const uint32_t few = std::max(seen.workers, 1u);
  const double needed = few / (1 - std::min(seen.starving, kMostKnown));
  return std::clamp(static_cast<uint32_t>(std::ceil(kToSpare * needed)), few + 1, 2 * few);
}

// As many as have enough to do, but at least half of those that there are.
uint32_t Fewer(const WorkerDemand::Seen& seen) {
  const auto enough = static_cast<uint32_t>(std::ceil(seen.busy * seen.workers / kStillEasy));
  return std::clamp(enough, (seen.workers + 1) / 2, seen.workers - 1);
}

}  // namespace

std::optional<WorkerDemand::Change> WorkerDemand::Ask(const Seen& seen, base::TimePoint now) {
  if (seen.workers > options_.most)
    return Changed(options_.most, "more than workers.max_cores allows", now);
  if (!OneIsTooMany(seen)) idle_since_.reset();
  const uint32_t few = std::max(seen.workers, 1u);
  if (IsUrgent(seen) && seen.workers < options_.most && !IsWithin(options_.hurries, now))
    return Changed(std::min(More(seen), options_.most), "trainers sleep while all workers decode",
                   now);
  if (IsWithin(options_.settles, now)) return std::nullopt;

  if (seen.more_wanted > 0 && seen.workers < options_.most) {
    const uint32_t wanted = few + std::min(seen.more_wanted, few);
    return Changed(
        std::min(wanted, options_.most),
        absl::StrCat("trainers wait for decoding; ", seen.more_wanted, " more are needed"), now);
  }
  if (!OneIsTooMany(seen)) return std::nullopt;
  if (!idle_since_) idle_since_ = now;
  if (now - *idle_since_ < options_.idles) return std::nullopt;
  return Changed(Fewer(seen),
                 absl::StrCat("workers are ", std::lround(100 * seen.busy),
                              " % busy and nobody waits for them"),
                 now);
}

bool WorkerDemand::IsWithin(base::Duration of_change, base::TimePoint now) const {
  return changed_ && now - *changed_ < of_change;
}

std::optional<WorkerDemand::Change> WorkerDemand::Changed(uint32_t workers, std::string reason,
                                                          base::TimePoint now) {
  changed_ = now;
  idle_since_.reset();
  return Change{workers, std::move(reason)};
}

}  // namespace penstock::feed
