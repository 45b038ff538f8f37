#include "server/feed/engine/statistics.h"

#include "tests/unit/feed/session_rig.h"

namespace penstock::feed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class StatisticsTest : public SessionRig {
 protected:
  StatisticsTest() { now_ += seconds(100); }

  FillOutcome Decoded(uint32_t user = 1000) const {
    FillOutcome outcome;
    outcome.task.user = UserId(user);
    outcome.feed = feed_;
    outcome.times = FillTimes{.given = now_,
                              .ended = now_ + milliseconds(30),
                              .read = milliseconds(10),
                              .decode = milliseconds(15)};
    return outcome;
  }
  std::optional<Statistics::Look> Look(base::Duration later) {
    return statistics_.LookAround(sessions_, workers_, hosts_, now_ += later);
  }

  void BatchIsFull(uint64_t id, uint64_t sequence) {
    Announcement announcement;
    announcement.session = SessionId(id);
    announcement.sequence = sequence;
    statistics_.SlotFull(*sessions_.Find(id), announcement, now_);
  }

  pyworkers::Hosts hosts_{{}, seconds(1)};
  workers::Supervisor workers_{{.count = 0}};
  const std::shared_ptr<Feed> feed_ = MakeFeed();
  Statistics statistics_{core_, 1};
};

TEST_F(StatisticsTest, ARowCountsForItsUserAndItsFeed) {
  statistics_.RowsEnded(FillPath::kWorkers, Decoded());
  statistics_.RowsEnded(FillPath::kWorkers, Decoded(2000));

  ASSERT_EQ(statistics_.users().all().size(), 2u);
  EXPECT_EQ(statistics_.users().all()[0].rows_decoded, 1u);
  EXPECT_EQ(statistics_.users().all()[0].decode, milliseconds(15));
  EXPECT_EQ(feed_->flow.sums().samples, 2u);
  EXPECT_EQ(feed_->flow.sums().read, milliseconds(20));
  EXPECT_EQ(feed_->flow.sums().queue, milliseconds(10));
}

TEST_F(StatisticsTest, WhatWasNotFilledOrTakesNoTimeIsNotCounted) {
  FillOutcome lost = Decoded(), instant = Decoded();
  lost.end = FillEnd::kLost;
  instant.times.reset();

  statistics_.RowsEnded(FillPath::kWorkers, lost);
  statistics_.RowsEnded(FillPath::kNobody, instant);

  EXPECT_TRUE(statistics_.users().all().empty());
  EXPECT_EQ(feed_->flow.sums().samples, 0u);
}

TEST_F(StatisticsTest, TheDaemonsOwnRowsAreNobodys) {
  feed_->canary = true;

  statistics_.RowsEnded(FillPath::kWorkers, Decoded());

  EXPECT_TRUE(statistics_.users().all().empty());
}

TEST_F(StatisticsTest, TheFirstLookSaysNothing) {
  Open(kPeer, feed_);

  EXPECT_FALSE(Look({}).has_value());
  EXPECT_FALSE(Look({}).has_value()) << "no time has passed";
  EXPECT_TRUE(Look(milliseconds(100)).has_value());
}

TEST_F(StatisticsTest, SessionsThatSleepWithoutABatchStarve) {
  const uint64_t one = Open(kPeer, feed_), other = Open(kOtherPeer, feed_);
  delivery(one).waiting = {.ready = 0, .asleep = true};
  delivery(other).waiting = {.ready = 2, .asleep = false};
  Look({});

  for (int i = 0; i < 30; ++i) Look(milliseconds(100));

  const FlowFigures figures = statistics_.ToFigures(*feed_, 4, {}, now_);
  EXPECT_NEAR(figures.starved, 0.5, 1e-9);
  EXPECT_NEAR(feed_->flow.occupancy.mean(), 0.5, 1e-9);
  EXPECT_EQ(figures.workers, 4u);
  EXPECT_FALSE(figures.has_data) << "no batch was waited for";
  EXPECT_NEAR(statistics_.StarvedOf(one), 1, 1e-9);
  EXPECT_EQ(statistics_.StarvedOf(other), 0);
}

TEST_F(StatisticsTest, ASessionThatIsGoneDoesNotStarve) {
  const uint64_t session = Open(kPeer, feed_);
  delivery(session).waiting = {.ready = 0, .asleep = true};
  Look({});
  Look(milliseconds(100));
  EXPECT_NEAR(statistics_.StarvedOf(session), 1, 1e-9);

  sessions_.PeerDisconnected(kPeer);
  Look(milliseconds(100));

  EXPECT_EQ(statistics_.StarvedOf(session), 0);
}

TEST_F(StatisticsTest, ATrainersWaitBeginsWithTheFirstLookThatSeesItAsleep) {
  FlowTotals totals;
  feed_->flow = FeedFlow(&totals);
  const uint64_t id = Open(kPeer, feed_);
  Look({});
  delivery(id).waiting = {.ready = 0, .asleep = true};
  for (int i = 0; i < 3; ++i) Look(milliseconds(100));

  BatchIsFull(id, 1);  // wakes it
  BatchIsFull(id, 2);

  EXPECT_EQ(totals.times.trainer.sum(), milliseconds(200));
  EXPECT_EQ(totals.times.trainer.buckets()[0], 1u);
}

TEST_F(StatisticsTest, ATrainerThatIsAwakeAgainDoesNotWait) {
  FlowTotals totals;
  feed_->flow = FeedFlow(&totals);
  const uint64_t id = Open(kPeer, feed_);
  Look({});
  delivery(id).waiting = {.ready = 0, .asleep = true};
  Look(milliseconds(100));
  Look(milliseconds(100));
  delivery(id).waiting = {.ready = 1, .asleep = false};

  BatchIsFull(id, 1);

  EXPECT_EQ(totals.times.trainer.sum(), base::Duration::zero());
  EXPECT_EQ(totals.times.trainer.buckets()[0], 1u);
}

TEST_F(StatisticsTest, ASessionThatEndedIsNotLookedAt) {
  Open(kPeer, feed_);
  Look({});

  sessions_.PeerDisconnected(kPeer);

  EXPECT_TRUE(Look(milliseconds(100))->feeds.empty());
}

TEST_F(StatisticsTest, RowCopiersAreAsBusyAsTheyCopy) {
  Open(kPeer, feed_);
  feed_->spec.storage = source::Storage::kRows;
  Look({});
  FillOutcome copied = Decoded();
  copied.times->read = milliseconds(50);

  statistics_.RowsEnded(FillPath::kRowCopiers, copied);
  Look(milliseconds(100));

  EXPECT_NEAR(statistics_.ToFigures(*feed_, 1, {}, now_).readers_busy, 0.5, 1e-9);
}

TEST_F(StatisticsTest, AStallIsSaidWithItsAgeAndReason) {
  const SourceHealth::Trouble stall = {now_ - seconds(3), "gone"};

  const FlowFigures figures = statistics_.ToFigures(*feed_, 1, stall, now_);

  EXPECT_EQ(figures.stalled, seconds(3));
  EXPECT_EQ(figures.stalled_reason, "gone");
}

}  // namespace
}  // namespace penstock::feed
