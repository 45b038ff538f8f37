#include "client/src/session/feed_position.h"

#include <gtest/gtest.h>

namespace penstock::client {
namespace {

Grant FourBatches() {
  Grant grant;
  grant.fingerprint = 0xFEED;
  grant.quarantine_version = 2;
  grant.epoch_samples = 40;
  grant.first_epoch_batches = grant.epoch_batches = 4;
  return grant;
}

// Batch `step` of an epoch of four batches, each of ten samples.
FeedPosition::Step StepOf(uint64_t epoch, uint64_t step) {
  return {.epoch = epoch, .step = step, .consumed = 10 * (step + 1), .last_of_epoch = step == 3};
}

TEST(FeedPositionTest, ItBeginsAtTheRequestedStateOrAtTheStart) {
  const FeedPosition fresh({.start = {}, .seed = 7}, FourBatches());
  const FeedPosition resumed({.start = State{.epoch = 3, .consumed = 20, .seed = 5}, .seed = 7},
                             FourBatches());

  EXPECT_EQ(fresh.state(), (State{.seed = 7, .fingerprint = 0xFEED, .quarantine_version = 2}));
  EXPECT_EQ(
      resumed.state(),
      (State{
          .epoch = 3, .consumed = 20, .seed = 5, .fingerprint = 0xFEED, .quarantine_version = 2}));
}

TEST(FeedPositionTest, EachBatchMovesItAndTheLastOneEndsTheEpoch) {
  FeedPosition position({}, FourBatches());

  EXPECT_EQ(position.Take(StepOf(0, 0)), 0u);
  EXPECT_EQ(position.state().consumed, 10u);
  EXPECT_FALSE(position.ReportEpochEnd().has_value());
  position.Take(StepOf(0, 3));

  EXPECT_TRUE(position.at_epoch_end());
  EXPECT_EQ(position.state().epoch, 1u);
  EXPECT_EQ(position.state().consumed, 0u);
  EXPECT_EQ(position.ReportEpochEnd(), 0u);
  EXPECT_FALSE(position.ReportEpochEnd().has_value());
  EXPECT_EQ(position.state().epoch, 1u);
}

// All ranks must save the same state, so a state saved before the end is reported stays in the old
// epoch.
TEST(FeedPositionTest, WhileAnotherRankHasOneMoreBatchTheEpochEndsOnlyWhenItIsReported) {
  FeedPosition position({.ranks_differ = true}, FourBatches());
  FeedPosition::Step last = StepOf(0, 2);
  last.last_of_epoch = true;

  position.Take(last);

  EXPECT_EQ(position.state().epoch, 0u);
  EXPECT_EQ(position.state().consumed, 30u);
  EXPECT_EQ(position.ReportEpochEnd(), 0u);
  EXPECT_EQ(position.state().epoch, 1u);
}

TEST(FeedPositionTest, EpochsAreCountedFromTheFirstOne) {
  FeedPosition position({.start = State{.epoch = 5}, .epochs = 2}, FourBatches());
  EXPECT_EQ(position.EpochsLeft(), 2u);

  position.Take(StepOf(5, 3));
  EXPECT_FALSE(position.AllEpochsDone());
  EXPECT_EQ(position.EpochsLeft(), 1u);
  position.Take(StepOf(6, 3));

  EXPECT_TRUE(position.AllEpochsDone());
  EXPECT_EQ(FeedPosition({}, FourBatches()).EpochsLeft(), 0u) << "no limit";
}

TEST(FeedPositionTest, AfterItWasReopenedStepsCountFromTheEpochsStartOn) {
  FeedPosition position({}, FourBatches());
  position.Take(StepOf(0, 0));
  position.Take(StepOf(0, 1));
  Grant rest = FourBatches();
  rest.first_epoch_batches = 2;
  rest.quarantine_version = 9;

  position.Reopened(rest);

  EXPECT_EQ(position.state().quarantine_version, 9u);
  EXPECT_EQ(position.batches_in_epoch(), 4u);
  EXPECT_EQ(position.Take(StepOf(0, 0)), 2u);
  EXPECT_EQ(position.Take(StepOf(1, 0)), 0u);
  position.Reopened(rest);
  EXPECT_EQ(position.batches_in_epoch(), 3u);
}

TEST(FeedPositionTest, ReopenedAtAnEpochsStartItHasNoStepsBefore) {
  FeedPosition position({}, FourBatches());
  position.Take(StepOf(0, 3));

  position.Reopened(FourBatches());

  EXPECT_EQ(position.Take(StepOf(1, 0)), 0u);
  EXPECT_EQ(position.batches_in_epoch(), 4u);
}

}  // namespace
}  // namespace penstock::client
