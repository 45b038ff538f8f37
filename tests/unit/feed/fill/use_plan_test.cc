// When samples will be needed again: over several feeds, and after one has ended.
#include "server/feed/fill/use_plan.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

namespace penstock::feed {
namespace {

constexpr uint64_t kUsedSamples = 10'000, kNeverAgain = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kUsedBatch = 100;

std::shared_ptr<DatasetState> MakeUsedDataset() {
  return std::make_shared<DatasetState>(DatasetState{
      .name = "x", .dataset = nullptr, .quarantine = {}, .policy = FaultPolicy(1, {})});
}

std::shared_ptr<Feed> MakeFeedOf(const std::shared_ptr<DatasetState>& dataset, uint64_t id,
                                 uint64_t seed) {
  auto feed = std::make_shared<Feed>();
  feed->id = FeedId(id);
  feed->dataset = dataset;
  feed->spec.samples = kUsedSamples;
  feed->spec.order = plan::Order::kShuffled;
  feed->spec.seed = seed;
  return feed;
}

Core::Ahead BatchAtStep(const std::shared_ptr<Feed>& feed, uint64_t step, RanksHere ranks) {
  const uint64_t all = step * kUsedBatch;
  return {
      .feed = feed->id,
      .position = {.epoch = all / kUsedSamples, .first = all % kUsedSamples, .rows = kUsedBatch},
      .ranks = std::move(ranks)};
}
const RanksHere kOneRank = {.world = 1, .batch_size = kUsedBatch, .ranks = {0}};

class UsePlanTest : public ::testing::Test {
 protected:
  void Begin(const std::shared_ptr<Feed>& feed, uint64_t step, const RanksHere& ranks = kOneRank) {
    plan_.Begin(feed, BatchAtStep(feed, step, ranks));
  }
  // How far away the use after the first of that batch is.
  uint64_t Distance(const Feed& feed, uint64_t step) {
    const Place at = {.epoch = step * kUsedBatch / kUsedSamples,
                      .place = step * kUsedBatch % kUsedSamples};
    const source::UseTimes times = plan_.TimesAfter(feed, at, PlannedAt(feed.spec, at));
    return times.next - times.now;
  }

  std::shared_ptr<DatasetState> dataset_ = MakeUsedDataset();
  UsePlan plan_;
};

TEST_F(UsePlanTest, OfOneFeedTheNextUseIsWhereTheNextEpochHasTheSample) {
  const auto feed = MakeFeedOf(dataset_, 1, 5);
  Begin(feed, 20);

  const uint64_t sample = PlannedAt(feed->spec, {0, 20 * kUsedBatch});
  const uint64_t next = plan::Permutation(kUsedSamples, 5, 1).PlaceOf(sample);
  EXPECT_EQ(Distance(*feed, 20), kUsedSamples + next - 20 * kUsedBatch);
}

TEST_F(UsePlanTest, WhatAnotherFeedNeedsSoonerIsNeededSooner) {
  const auto one = MakeFeedOf(dataset_, 1, 5), other = MakeFeedOf(dataset_, 2, 6);
  Begin(one, 0);
  const uint64_t alone = Distance(*one, 0);
  Begin(other, 0);

  const uint64_t sample = PlannedAt(one->spec, {0, 0});
  const uint64_t there = plan::Permutation(kUsedSamples, 6, 0).PlaceOf(sample);
  ASSERT_LT(there, alone) << "choose other seeds";
  EXPECT_NEAR(static_cast<double>(Distance(*one, 0)), 2.0 * static_cast<double>(there), 100.0)
      << "two feeds take turns, so its rows are twice as far apart";
}

TEST_F(UsePlanTest, AFeedThatHasEndedNeedsNothing) {
  const auto one = MakeFeedOf(dataset_, 1, 5);
  Begin(one, 0);
  const uint64_t alone = Distance(*one, 0);
  {
    const auto other = MakeFeedOf(dataset_, 2, 6);
    Begin(other, 0);
    EXPECT_NE(Distance(*one, 0), alone);
  }
  Begin(MakeFeedOf(MakeUsedDataset(), 3, 6), 0);  // of another dataset; it ends at once
  Begin(MakeFeedOf(MakeUsedDataset(), 4, 6), 0);
  const double shared = static_cast<double>(Distance(*one, 0));
  EXPECT_GT(shared, static_cast<double>(alone));  // the rows of the feed before count still
}

TEST_F(UsePlanTest, FeedsOfOtherDatasetsNeedOtherSamples) {
  const auto one = MakeFeedOf(dataset_, 1, 5), other = MakeFeedOf(MakeUsedDataset(), 2, 6);
  Begin(one, 0);
  const uint64_t alone = Distance(*one, 0);
  Begin(other, 0);
  EXPECT_NEAR(static_cast<double>(Distance(*one, 0)), 2.0 * static_cast<double>(alone), 100.0);
}

TEST_F(UsePlanTest, ANodeWithFewRanksNeedsSamplesLater) {
  const auto feed = MakeFeedOf(dataset_, 1, 5);
  const RanksHere one_of_many = {.world = 50, .batch_size = kUsedBatch, .ranks = {0}};
  Begin(feed, 0, one_of_many);
  uint64_t never = 0;
  for (uint64_t place = 0; place < kUsedBatch; ++place) {
    const uint64_t next =
        plan_.TimesAfter(*feed, {0, place}, PlannedAt(feed->spec, {0, place})).next;
    never += next == kNeverAgain;
  }
  EXPECT_GT(never, kUsedBatch / 2) << "of 50 ranks, one has few of its samples again in 16 epochs";
}

TEST_F(UsePlanTest, AllSamplesAreSaidOnceAndAnewForAnotherFeed) {
  const auto feed = MakeFeedOf(dataset_, 1, 5);
  Begin(feed, 0);
  EXPECT_EQ(plan_.TakeUnsaid(*feed, 6000), std::make_pair(uint64_t{0}, uint64_t{6000}));
  EXPECT_EQ(plan_.TakeUnsaid(*feed, 6000), std::make_pair(uint64_t{6000}, kUsedSamples));
  EXPECT_EQ(plan_.TakeUnsaid(*feed, 6000), std::make_pair(kUsedSamples, kUsedSamples));
  Begin(feed, 1);
  EXPECT_EQ(plan_.TakeUnsaid(*feed, 6000), std::make_pair(kUsedSamples, kUsedSamples));

  Begin(MakeFeedOf(dataset_, 2, 6), 0);
  EXPECT_EQ(plan_.TakeUnsaid(*feed, 10).first, 0u);
}

}  // namespace
}  // namespace penstock::feed
