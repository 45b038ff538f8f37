#include "server/feed/stats/worker_demand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "common/base/pace.h"
#include "server/feed/stats/verdict.h"

namespace penstock::feed {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr base::TimePoint kDemandStart{std::chrono::hours(1)};
constexpr WorkerDemand::Options kEight{.most = 8};

std::optional<uint32_t> Ask(WorkerDemand& demand, const WorkerDemand::Seen& seen, int at) {
  const auto change = demand.Ask(seen, kDemandStart + seconds(at));
  if (!change) return std::nullopt;
  return change->workers;
}

// ---- No change. ----

TEST(WorkerDemandTest, WhoHasAllThatIsAllowedGetsNoMore) {
  WorkerDemand demand(kEight);
  EXPECT_FALSE(
      Ask(demand, {.workers = 8, .more_wanted = 5, .anybody_starves = true, .busy = 1}, 0));
}

TEST(WorkerDemandTest, OneWorkerStays) {
  WorkerDemand demand(kEight);
  for (int at = 0; at < 1000; ++at) EXPECT_FALSE(Ask(demand, {.workers = 1}, at));
}

TEST(WorkerDemandTest, IdleWorkersStayWhileAnybodyStarvesOfSomethingElse) {
  WorkerDemand demand(kEight);
  for (int at = 0; at < 100; ++at)
    EXPECT_FALSE(Ask(demand, {.workers = 4, .anybody_starves = true, .busy = 0.1}, at));
}

TEST(WorkerDemandTest, AWorkerThatWouldBeMissedStays) {
  WorkerDemand demand(kEight);
  for (int at = 0; at < 100; ++at) EXPECT_FALSE(Ask(demand, {.workers = 2, .busy = 0.45}, at));
}

TEST(WorkerDemandTest, AMomentOfWorkBeginsTheIdleTimeAnew) {
  WorkerDemand demand(kEight);
  for (int at = 0; at < 100; ++at)
    EXPECT_FALSE(Ask(demand, {.workers = 4, .busy = at % 8 == 0 ? 0.9 : 0.1}, at));
}

// ---- Changes. ----

TEST(WorkerDemandTest, AsManyAsAreMissedAreAdded) {
  WorkerDemand demand(kEight);

  const auto change =
      demand.Ask({.workers = 4, .more_wanted = 2, .anybody_starves = true}, kDemandStart);

  ASSERT_TRUE(change);
  EXPECT_EQ(change->workers, 6u);
  EXPECT_THAT(change->reason, HasSubstr("trainers wait for decoding"));
}

TEST(WorkerDemandTest, AtMostTwiceAsManyAtOnceAndNeverMoreThanAllowed) {
  WorkerDemand demand(kEight);
  EXPECT_EQ(Ask(demand, {.workers = 1, .more_wanted = 9, .anybody_starves = true}, 0), 2u);
  EXPECT_EQ(Ask(demand, {.workers = 2, .more_wanted = 9, .anybody_starves = true}, 10), 4u);
  EXPECT_EQ(Ask(demand, {.workers = 7, .more_wanted = 9, .anybody_starves = true}, 20), 8u);
}

TEST(WorkerDemandTest, AfterAChangeTheFiguresSettleFirst) {
  WorkerDemand demand(kEight);
  ASSERT_TRUE(Ask(demand, {.workers = 1, .more_wanted = 9, .anybody_starves = true}, 0));

  EXPECT_FALSE(Ask(demand, {.workers = 2, .more_wanted = 9, .anybody_starves = true}, 4));
  EXPECT_TRUE(Ask(demand, {.workers = 2, .more_wanted = 9, .anybody_starves = true}, 5));
}

TEST(WorkerDemandTest, WhoIdlesForLongLosesOneThenAnother) {
  WorkerDemand demand(kEight);
  std::vector<int> lowered;
  uint32_t workers = 3;
  for (int at = 0; at < 120; ++at)
    if (const auto wanted = Ask(demand, {.workers = workers, .busy = 0.1}, at)) {
      EXPECT_EQ(*wanted, workers - 1);
      workers = *wanted;
      lowered.push_back(at);
    }

  ASSERT_EQ(lowered.size(), 2u);
  EXPECT_EQ(lowered[0], 10);
  EXPECT_GE(lowered[1], 20);
}

TEST(WorkerDemandTest, ManyThatIdleLoseHalfOrKeepWhatTheyNeed) {
  for (const auto& [busy, left] : std::map<double, uint32_t>{{0.01, 4}, {0.45, 6}}) {
    WorkerDemand demand(kEight);
    std::optional<uint32_t> lowered;
    for (int at = 0; !lowered && at < 60; ++at)
      lowered = Ask(demand, {.workers = 8, .busy = busy}, at);
    EXPECT_EQ(lowered, left);
  }
}

TEST(WorkerDemandTest, ATrainerThatSleepsGetsAllWithinASecond) {
  constexpr WorkerDemand::Options kSixteen{.most = 16};
  WorkerDemand demand(kSixteen);
  uint32_t workers = 1;
  for (int tick = 0; tick < 10; ++tick) {
    const auto change = demand.Ask({.workers = workers, .starving = 0.9, .busy_lately = 0.9},
                                   kDemandStart + tick * std::chrono::milliseconds(100));
    if (change) workers = change->workers;
  }
  EXPECT_EQ(workers, 16u);
}

// Two ranks of one training, each of which is seen to sleep for a few percent of the time.
TEST(WorkerDemandTest, ATrainerThatSleepsALittleGetsEnoughWithinASecond) {
  constexpr WorkerDemand::Options kThirtyTwo{.most = 32};
  for (const double needed : {9.0, 11.0, 14.0}) {
    WorkerDemand demand(kThirtyTwo);
    uint32_t workers = 8;
    for (int tick = 0; tick < 10; ++tick) {
      const double starving = std::max(0.0, 1 - workers / needed) / 2;
      const auto change =
          demand.Ask({.workers = workers, .starving = starving, .busy_lately = 0.95},
                     kDemandStart + tick * std::chrono::milliseconds(100));
      if (change) workers = change->workers;
    }
    EXPECT_GE(workers, needed);
    EXPECT_LE(workers, 1.5 * needed);
  }
}

TEST(WorkerDemandTest, ATrainerThatSleepsForAnotherReasonHurriesNobody) {
  WorkerDemand demand(kEight);
  for (int at = 0; at < 9; ++at) {
    EXPECT_FALSE(Ask(demand, {.workers = 4, .starving = 1, .busy_lately = 0.3}, at));
    EXPECT_FALSE(Ask(demand, {.workers = 4, .starving = 0.01, .busy_lately = 1}, at));
  }
}

TEST(WorkerDemandTest, MoreThanAllowedAreTakenBackAtOnce) {
  WorkerDemand demand(kEight);
  EXPECT_EQ(Ask(demand, {.workers = 12, .more_wanted = 3, .anybody_starves = true, .busy = 1}, 0),
            8u);
}

// ---- Over time, with a trainer that needs a certain number of workers. ----

struct Story {
  uint32_t workers = 0, changes = 0, late_changes = 0;
};

Story Play(double wanted_workers, uint32_t from, int for_seconds) {
  WorkerDemand demand(kEight);
  Story story{.workers = from};
  for (int at = 0; at < for_seconds; ++at) {
    const double starved = std::max(0.0, 1 - story.workers / wanted_workers);
    const double busy = std::min(1.0, wanted_workers / story.workers);
    const FlowVerdict verdict = Judge(
        {.has_data = true, .starved = starved, .workers = story.workers, .workers_busy = busy});
    const auto change = Ask(demand,
                            {.workers = story.workers,
                             .more_wanted = verdict.more_workers,
                             .anybody_starves = starved >= base::kHeldUp,
                             .busy = busy},
                            at);
    if (!change) continue;
    story.workers = *change;
    ++story.changes;
    if (at > for_seconds / 2) ++story.late_changes;
  }
  return story;
}

TEST(WorkerDemandTest, ItFindsWhatIsWantedFromBelowAndStaysThere) {
  for (const double wanted : {0.3, 1.0, 1.7, 2.5, 3.0, 4.2, 5.9, 7.5}) {
    SCOPED_TRACE(wanted);
    const Story story = Play(wanted, 1, 600);

    EXPECT_EQ(story.workers, static_cast<uint32_t>(std::ceil(wanted)));
    EXPECT_LE(story.changes, 4u);
    EXPECT_EQ(story.late_changes, 0u);
  }
}

TEST(WorkerDemandTest, FromAboveItKeepsNoMoreThanAreEasyToSpareAndDoesNotSwing) {
  for (const double wanted : {0.1, 0.9, 1.7, 2.5, 3.0}) {
    SCOPED_TRACE(wanted);
    const Story story = Play(wanted, 8, 1200);

    EXPECT_GE(story.workers, wanted);
    EXPECT_LE(story.workers, 2 * wanted + 1);
    EXPECT_EQ(story.late_changes, 0u);
  }
}

TEST(WorkerDemandTest, WhatCannotBeHadIsNotAskedForAgainAndAgain) {
  const Story story = Play(40, 1, 600);

  EXPECT_EQ(story.workers, 8u);
  EXPECT_EQ(story.changes, 3u);
}

}  // namespace
}  // namespace penstock::feed
