// Which sample a place holds when the client gave the order.
#include "server/feed/samples.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

namespace penstock::feed {
namespace {

FeedSpec SpecOf(const std::vector<uint64_t>& order) {
  GivenOrderBuilder builder(order.size());
  EXPECT_TRUE(builder.Add(order).ok());
  FeedSpec spec;
  spec.samples = 1000;
  spec.seed = 7;
  spec.given = std::make_shared<const GivenOrder>(builder.Finish().value());
  return spec;
}

FeedSpec Shuffled() {
  FeedSpec spec;
  spec.samples = 1000;
  spec.order = plan::Order::kShuffled;
  spec.seed = 7;
  return spec;
}

TEST(SamplesTest, AGivenOrderIsTheEpochOfWhicheverNumber) {
  const FeedSpec spec = SpecOf({30, 10, 30});

  EXPECT_EQ(spec.epoch_samples(), 3u);
  for (uint64_t epoch : {0, 1, 90}) {
    EXPECT_EQ(PlannedAt(spec, {epoch, 0}), 30u);
    EXPECT_EQ(PlannedAt(spec, {epoch, 1}), 10u);
    EXPECT_EQ(PlannedAt(spec, {epoch, 2}), 30u);
  }
}

TEST(SamplesTest, WithoutOneThePlanDecides) {
  const FeedSpec spec = Shuffled();

  EXPECT_EQ(spec.epoch_samples(), 1000u);
  EXPECT_EQ(PlannedAt(spec, {4, 12}), plan::SampleAt(spec.order, 1000, 7, 4, 12));
  EXPECT_EQ(StandInFor(spec, 4, 12, 2), plan::SubstituteFor(1000, 7, 4, 12, 2));
  EXPECT_EQ(DrawKeyOf(spec, {4, 12}, 77).sample, 77u);
}

TEST(SamplesTest, AStandInIsOneOfTheOrdersSamplesToo) {
  const FeedSpec spec = SpecOf({30, 10, 500});
  std::set<uint64_t> seen;

  for (uint32_t attempt = 1; attempt <= 60; ++attempt)
    seen.insert(StandInFor(spec, 0, 30, attempt));

  EXPECT_EQ(seen, (std::set<uint64_t>{10, 30, 500}));
}

TEST(SamplesTest, ASampleThatComesTwiceIsDrawnDifferentlyEachTime) {
  const FeedSpec spec = SpecOf({30, 10, 30});

  const decode::DrawKey first = DrawKeyOf(spec, {2, 0}, 30), again = DrawKeyOf(spec, {2, 2}, 30);

  EXPECT_NE(first.sample, again.sample);
  EXPECT_EQ(first.sample, plan::DrawNumber(0, 30));
  EXPECT_EQ(first.seed, 7u);
  EXPECT_EQ(first.epoch, 2u);
}

TEST(SamplesTest, TwoSamplesAtOnePlaceOfTwoOrdersAreDrawnDifferently) {
  EXPECT_NE(DrawKeyOf(SpecOf({1, 2}), {0, 1}, 2).sample,
            DrawKeyOf(SpecOf({1, 3}), {0, 1}, 3).sample);
}

}  // namespace
}  // namespace penstock::feed
