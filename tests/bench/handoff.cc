// handoff: the cost of taking and releasing a ready batch, in time and in system calls.
#include "tests/bench/handoff_ring.h"
#include "tests/bench/harness/measure.h"
#include "tests/bench/suite.h"

namespace penstock::bench {
namespace {

constexpr double kGoalMicroseconds = 0.5;
constexpr uint32_t kCountedBlocks = 64;

struct Extents {
  int rounds;
  uint32_t blocks;  // in one run
};
Extents ExtentsOf(Extent extent) {
  return extent == Extent::kFull ? Extents{15, 2000} : Extents{5, 200};
}

// Verifies the counter first: a release to a sleeping daemon notifies it, with exactly one call.
absl::StatusOr<double> CountSystemCalls() {
  PENSTOCK_ASSIGN_OR_RETURN(const double control, MeasureHandoffs({.mode = Mode::kCountedAsleep,
                                                                   .blocks = kCountedBlocks}));
  if (control != 1) {
    return absl::InternalError(absl::StrCat("cannot count system calls on this machine: got ",
                                            control, " for a release that makes exactly 1"));
  }
  return MeasureHandoffs({.mode = Mode::kCounted, .blocks = kCountedBlocks});
}

}  // namespace

absl::StatusOr<Result> RunHandoff(const Arguments& arguments) {
  const Extents extents = ExtentsOf(arguments.extent);
  const auto microseconds = [&](Consumer consumer) -> absl::StatusOr<double> {
    PENSTOCK_ASSIGN_OR_RETURN(const double nanoseconds,
                              MeasureHandoffs({.consumer = consumer, .blocks = extents.blocks}));
    return nanoseconds / 1000;
  };
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<double> medians,
                            AlternatingMedians({[&] { return microseconds(Consumer::kClient); },
                                                [&] { return microseconds(Consumer::kBare); }},
                                               extents.rounds));
  PENSTOCK_ASSIGN_OR_RETURN(const double system_calls, CountSystemCalls());

  Result result{.suite = "handoff",
                .data = "empty batches of 32, announced ahead by another process",
                .rounds = extents.rounds};
  result.comparisons.push_back({.name = "take and release, client library",
                                .against = "the same by bare loads and stores",
                                .unit = "us",
                                .better = Better::kLower,
                                .figure = medians[0],
                                .reference = medians[1]});
  result.facts = {
      {.name = "take and release", .value = medians[0], .unit = "us", .at_most = kGoalMicroseconds},
      {.name = "system calls a take and release",
       .value = system_calls,
       .unit = "calls",
       .at_most = 0},
      {.name = "the same while the daemon sleeps (control of the counter)",
       .value = 1,
       .unit = "calls"}};
  if (!arguments.data.empty()) result.notes.push_back("--data has no effect on this suite");
  return result;
}

}  // namespace penstock::bench
