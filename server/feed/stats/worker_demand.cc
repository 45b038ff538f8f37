#include "server/feed/stats/worker_demand.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::feed {
namespace {

constexpr double kIdle = 0.5;
// With one worker fewer, the others must not be busier than this, or it would be needed again at
// once.
constexpr double kStillEasy = 0.7;

bool OneIsTooMany(const WorkerDemand::Seen& seen) {
  if (seen.workers <= 1 || seen.anybody_starves || seen.busy >= kIdle) return false;
  return seen.busy * seen.workers / (seen.workers - 1) < kStillEasy;
}

}  // namespace

std::optional<WorkerDemand::Change> WorkerDemand::Ask(const Seen& seen, base::TimePoint now) {
  if (seen.workers > options_.most)
    return Changed(options_.most, "more than workers.max_cores allows", now);
  if (!OneIsTooMany(seen)) idle_since_.reset();
  if (changed_ && now - *changed_ < options_.settles) return std::nullopt;

  if (seen.more_wanted > 0 && seen.workers < options_.most) {
    const uint32_t few = std::max(seen.workers, 1u);
    const uint32_t wanted = few + std::min(seen.more_wanted, few);
    return Changed(
        std::min(wanted, options_.most),
        absl::StrCat("trainers wait for decoding; ", seen.more_wanted, " more are needed"), now);
  }
  if (!OneIsTooMany(seen)) return std::nullopt;
  if (!idle_since_) idle_since_ = now;
  if (now - *idle_since_ < options_.idles) return std::nullopt;
  return Changed(seen.workers - 1,
                 absl::StrCat("workers are ", std::lround(100 * seen.busy),
                              " % busy and nobody waits for them"),
                 now);
}

std::optional<WorkerDemand::Change> WorkerDemand::Changed(uint32_t workers, std::string reason,
                                                          base::TimePoint now) {
  changed_ = now;
  idle_since_.reset();
  return Change{workers, std::move(reason)};
}

}  // namespace penstock::feed
