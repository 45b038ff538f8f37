#include "server/feed/stats/flow.h"

#include <gtest/gtest.h>

namespace penstock::feed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::TimePoint kStart{std::chrono::hours(1)};
base::TimePoint At(int ms) { return kStart + milliseconds(ms); }

constexpr SlotFill kFill{.slot = 3, .generation = 7};

RowsEnded Row(int given, int ended, int read = 0, int decode = 0) {
  return {.fill = kFill,
          .given = At(given),
          .ended = At(ended),
          .read = milliseconds(read),
          .decode = milliseconds(decode)};
}

SessionFlow::BatchTimes Full(uint64_t sequence, int ms) {
  return {.sequence = sequence, .fill = kFill, .full = At(ms)};
}

// ---- Impossible events. ----

TEST(FeedFlowTest, ASlotThatNobodySawFillingIsNoBatch) {
  FeedFlow flow;
  flow.Given(kFill, At(0));

  EXPECT_FALSE(flow.Full({.slot = 3, .generation = 8}));
  EXPECT_FALSE(flow.Full({.slot = 4, .generation = 7}));
  EXPECT_EQ(flow.sums().batches, 0u);
}

TEST(FeedFlowTest, PartsThatAreMoreThanTheWholeLeaveNoTimeInTheQueue) {
  FeedFlow flow;

  flow.Ended(Row(0, 10, 9, 9));

  EXPECT_EQ(flow.sums().queue, base::Duration::zero());
}

TEST(FeedFlowTest, ARowThatEndedBeforeItWasGivenTakesNoTime) {
  FeedFlow flow;

  flow.Ended(Row(10, 0));

  EXPECT_EQ(flow.sums().queue, base::Duration::zero());
}

TEST(SessionFlowTest, AConsumerThatTakesWhatIsNotThereTakesWhatIs) {
  FeedFlow feed;
  SessionFlow session;
  session.Full(Full(1, 0));

  session.Taken(UINT64_MAX, At(5), feed);

  EXPECT_EQ(feed.sums().waits, 1u);
  EXPECT_EQ(feed.sums().consumer, milliseconds(5));
}

TEST(SessionFlowTest, WhatWasNotTakenIsNotReleased) {
  FeedFlow feed;
  SessionFlow session;
  session.Full(Full(1, 0));

  EXPECT_FALSE(session.Released(1, At(1)));
  EXPECT_FALSE(session.Released(2, At(1)));
  session.Taken(1, At(1), feed);
  EXPECT_TRUE(session.Released(1, At(2)));
  EXPECT_FALSE(session.Released(1, At(3)));
}

// ---- Possible events. ----

TEST(FeedFlowTest, TheQueueIsWhatReadingAndDecodingLeave) {
  FeedFlow flow;

  flow.Ended(Row(0, 10, 2, 5));
  flow.Ended(Row(0, 20, 1, 1));

  EXPECT_EQ(flow.sums().samples, 2u);
  EXPECT_EQ(flow.sums().read, milliseconds(3));
  EXPECT_EQ(flow.sums().decode, milliseconds(6));
  EXPECT_EQ(flow.sums().queue, milliseconds(3 + 18));
}

TEST(FeedFlowTest, EachRowOfARunWaitsForTheRun) {
  FeedFlow flow;
  RowsEnded run = Row(0, 10, 4);
  run.rows = 8;

  flow.Ended(run);

  EXPECT_EQ(flow.sums().samples, 8u);
  EXPECT_EQ(flow.sums().read, milliseconds(4));
  EXPECT_EQ(flow.sums().queue, milliseconds(8 * 6));
}

TEST(FeedFlowTest, ABatchTakesFromItsFirstRowsBeginToItsLastOnesEnd) {
  FeedFlow flow;
  flow.Given(kFill, At(0));
  flow.Given(kFill, At(1));
  flow.Ended(Row(1, 30));
  flow.Ended(Row(0, 20));

  const auto filled = flow.Full(kFill);

  ASSERT_TRUE(filled);
  EXPECT_EQ(filled->begun, At(0));
  EXPECT_EQ(filled->ended, At(30));
  EXPECT_EQ(flow.sums().batches, 1u);
  EXPECT_EQ(flow.sums().assemble, milliseconds(30));
}

TEST(FeedFlowTest, ABatchThatSeveralSessionsGetIsFilledOnce) {
  FeedFlow flow;
  flow.Given(kFill, At(0));
  flow.Ended(Row(0, 20));

  EXPECT_TRUE(flow.Full(kFill));
  EXPECT_FALSE(flow.Full(kFill));
}

TEST(FeedFlowTest, WhatItSumsUpItsDatasetsTotalsGetToo) {
  FlowTotals totals;
  FeedFlow one(&totals), other(&totals);

  for (FeedFlow* flow : {&one, &other}) {
    flow->Given(kFill, At(0));
    flow->Ended(Row(0, 10, 2, 5));
    flow->Full(kFill);
    flow->Copied(milliseconds(7));
    flow->Waited(milliseconds(9), {});
  }

  EXPECT_EQ(one.sums().queue, milliseconds(3));
  EXPECT_EQ(totals.stages.samples, 2u);
  EXPECT_EQ(totals.stages.read, milliseconds(4));
  EXPECT_EQ(totals.stages.queue, milliseconds(6));
  EXPECT_EQ(totals.stages.decode, milliseconds(10));
  EXPECT_EQ(totals.stages.batches, 2u);
  EXPECT_EQ(totals.stages.assemble, milliseconds(20));
  EXPECT_EQ(totals.stages.copy, milliseconds(14));
  EXPECT_EQ(totals.stages.consumer, milliseconds(18));
}

TEST(FeedFlowTest, TheTotalsHaveTheTimeOfEachSession) {
  FlowTotals totals;
  FeedFlow flow(&totals);

  flow.Seen({.sessions = 0}, seconds(9));
  flow.Seen({.sessions = 2, .occupancy = 1.5, .starved = 1}, seconds(4));

  EXPECT_EQ(totals.open, seconds(8));
  EXPECT_EQ(totals.filled, seconds(6));
  EXPECT_EQ(totals.starved, seconds(4));
  EXPECT_DOUBLE_EQ(flow.occupancy.mean(), 0.75);
  EXPECT_DOUBLE_EQ(flow.starved.mean(), 0.5);
}

TEST(FeedFlowTest, WorkersThatWereIdleBeforeItHadSessionsAreNotItsIdleWorkers) {
  FeedFlow flow;

  flow.Seen({.sessions = 0, .workers = 0, .readers = 0, .row_copiers = 0}, seconds(30));
  flow.Seen({.sessions = 1, .workers = 0.9, .readers = 0.4, .row_copiers = 0.2}, seconds(1));

  EXPECT_DOUBLE_EQ(flow.workers.mean(), 0.9);
  EXPECT_DOUBLE_EQ(flow.readers.mean(), 0.4);
  EXPECT_DOUBLE_EQ(flow.row_copiers.mean(), 0.2);
}

TEST(FeedFlowTest, ASlotThatIsFilledAnewBeginsAnew) {
  FeedFlow flow;
  flow.Given(kFill, At(0));
  flow.Given({.slot = 3, .generation = 8}, At(50));
  flow.Ended(Row(0, 60));  // from the abandoned fill

  const auto filled = flow.Full({.slot = 3, .generation = 8});

  ASSERT_TRUE(filled);
  EXPECT_EQ(filled->begun, At(50));
  EXPECT_EQ(filled->ended, At(50));
}

TEST(SessionFlowTest, OnTheHostABatchIsReadyOnceItIsFull) {
  FeedFlow feed;
  SessionFlow session;
  session.Full(Full(1, 0));

  session.Taken(1, At(10), feed);

  EXPECT_EQ(feed.sums().copies, 0u);
  EXPECT_EQ(feed.sums().consumer, milliseconds(10));
}

TEST(SessionFlowTest, ForAGpuABatchIsCopiedFirst) {
  FeedFlow feed;
  SessionFlow session(SessionFlow::BatchMemory::kDevice, {});
  session.Full(Full(1, 0));
  session.Full(Full(2, 1));

  session.Taken(2, At(2), feed);  // it isn't on the GPU yet
  session.Ready(1, At(4), feed);
  session.Ready(2, At(6), feed);
  session.Taken(1, At(9), feed);

  EXPECT_EQ(feed.sums().copies, 2u);
  EXPECT_EQ(feed.sums().copy, milliseconds(4 + 5));
  EXPECT_EQ(feed.sums().waits, 1u);
  EXPECT_EQ(feed.sums().consumer, milliseconds(5));
}

TEST(SessionFlowTest, ABatchTellsItsStoryWhenItIsReleasedInWhateverOrder) {
  FeedFlow feed;
  SessionFlow session;
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) session.Full(Full(sequence, 0));
  session.Taken(3, At(1), feed);

  EXPECT_EQ(session.Released(2, At(2))->sequence, 2u);
  EXPECT_EQ(session.batches().size(), 3u);
  const auto story = session.Released(1, At(5));

  ASSERT_TRUE(story);
  EXPECT_EQ(story->full, At(0));
  EXPECT_EQ(story->ready, At(0));
  EXPECT_EQ(story->taken, At(1));
  EXPECT_EQ(story->released, At(5));
  EXPECT_EQ(session.batches().size(), 1u);
}

// ---- Distributions. ----

TEST(FlowTimesTest, EachStageCountsInItsOwnDistribution) {
  FlowTotals totals;
  FeedFlow feed(&totals);
  SessionFlow session(SessionFlow::BatchMemory::kDevice, {.session = 7, .trace_id = "4bf9"});

  feed.Ended(Row(0, 30, 3, 20));
  feed.HandedOver(milliseconds(4));
  session.Full(Full(1, 100));
  session.Ready(1, At(108), feed);
  session.Taken(1, At(150), feed);

  EXPECT_EQ(totals.times.read.sum(), milliseconds(3));
  EXPECT_EQ(totals.times.decode.sum(), milliseconds(20));
  EXPECT_EQ(totals.times.hand_over.sum(), milliseconds(4));
  EXPECT_EQ(totals.times.copy.sum(), milliseconds(8));
  EXPECT_EQ(totals.times.ready.sum(), milliseconds(42));
  EXPECT_EQ(totals.times.ready.exemplars()[7].session, 7u);
  EXPECT_EQ(totals.times.ready.exemplars()[7].trace_id, "4bf9");
}

TEST(FlowTimesTest, RowsOfARunCountWithTheirMean) {
  FlowTotals totals;
  FeedFlow feed(&totals);
  RowsEnded run = Row(0, 30, 20, 10);
  run.rows = 10;

  feed.Ended(run);

  EXPECT_EQ(totals.times.read.buckets()[3], 10u);  // 2 ms each
  EXPECT_EQ(totals.times.decode.buckets()[2], 10u);
}

// ---- Recent. ----

TEST(RecentTest, OfNothingItTellsNothing) {
  EXPECT_FALSE(Recent().has_data());
  EXPECT_EQ(Recent().mean(), 0);
}

TEST(RecentTest, TheFirstSecondsAreTheirOwnMean) {
  Recent recent;
  for (int i = 0; i < 20; ++i) recent.Add(i % 2, milliseconds(100));

  EXPECT_TRUE(recent.has_data());
  EXPECT_NEAR(recent.mean(), 0.5, 0.02);
}

TEST(RecentTest, WhatWasLongAgoIsForgotten) {
  Recent recent;
  for (int i = 0; i < 300; ++i) recent.Add(1, milliseconds(100));
  for (int i = 0; i < 200; ++i) recent.Add(0, milliseconds(100));

  EXPECT_LT(recent.mean(), 0.02);
}

TEST(RecentTest, HowOftenItIsLookedAtDoesNotMatter) {
  Recent often, seldom;
  for (int i = 0; i < 100; ++i) often.Add(1, milliseconds(10));
  seldom.Add(1, seconds(1));
  for (int i = 0; i < 200; ++i) often.Add(0, milliseconds(10));
  seldom.Add(0, seconds(2));

  EXPECT_NEAR(often.mean(), seldom.mean(), 1e-9);
}

}  // namespace
}  // namespace penstock::feed
