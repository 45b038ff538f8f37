// The sample at a position when the client gave the order.
#include "server/feed/identity/samples.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

namespace penstock::feed {
namespace {

FeedSpec SpecOf(const std::vector<uint64_t>& order) {
  plan::GivenOrderBuilder builder(order.size());
  EXPECT_TRUE(builder.Add(order).ok());
  FeedSpec spec;
  spec.samples = 1000;
  spec.seed = 7;
  spec.given = std::make_shared<const plan::GivenOrder>(builder.Finish().value());
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
  const uint64_t planned = PlannedAt(spec, {4, 12});
  EXPECT_EQ(ToDrawKey(spec, {4, 12}, planned).sample, planned);
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

  const decode::DrawKey first = ToDrawKey(spec, {2, 0}, 30), again = ToDrawKey(spec, {2, 2}, 30);

  EXPECT_NE(first.sample, again.sample);
  EXPECT_EQ(first.sample, plan::DrawNumber(0, 30));
  EXPECT_EQ(first.seed, 7u);
  EXPECT_EQ(first.epoch, 2u);
}

TEST(SamplesTest, ARangesSamplesComeAndStandInAloneAndKeepTheirNumbers) {
  FeedSpec spec = Shuffled();
  spec.range = {.first = 300, .count = 50};
  std::set<uint64_t> seen;

  EXPECT_EQ(spec.epoch_samples(), 50u);
  for (uint64_t place = 0; place < 50; ++place) {
    const uint64_t sample = PlannedAt(spec, {2, place});
    seen.insert(sample);
    EXPECT_EQ(sample, 300 + plan::SampleAt(spec.order, 50, 7, 2, place));
    EXPECT_TRUE(spec.range->Contains(StandInFor(spec, 2, sample, 1 + place % 5)));
  }
  EXPECT_EQ(seen.size(), 50u);
  EXPECT_EQ(*seen.begin(), 300u);
  EXPECT_EQ(*seen.rbegin(), 349u);
  const uint64_t planned = PlannedAt(spec, {2, 12});
  EXPECT_EQ(ToDrawKey(spec, {2, 12}, planned).sample, planned);
}

TEST(SamplesTest, WindowsOfShardsArePlannedWithinTheRange) {
  FeedSpec spec = Shuffled();
  spec.order = plan::Order::kShuffledInWindows;
  spec.windows = {.shard_samples = 10, .shards = 2};
  spec.range = {.first = 500, .count = 100};
  const plan::WindowedOrder order(spec.windows, 100, 7, 3);

  std::vector<uint64_t> planned(150);
  PlannedFrom(spec, {3, 0}, planned);

  for (uint64_t place = 0; place < 150; ++place) {
    EXPECT_EQ(planned[place], 500 + order(place % 100));
    EXPECT_EQ(PlannedAt(spec, {3, place % 100}), planned[place]);
  }
}

FeedSpec Mixed() {
  FeedSpec spec = Shuffled();
  spec.mixture = std::make_shared<const plan::Mixture>(
      plan::Mixture::Make({.samples = {900, 100}, .epoch_samples = 400, .schedule = {{0, {1, 1}}}})
          .value());
  return spec;
}

TEST(SamplesTest, AMixtureSaysWhichSamplesComeAndHowMany) {
  const FeedSpec spec = Mixed();
  std::vector<uint64_t> planned(400);

  PlannedFrom(spec, {1, 0}, planned);

  EXPECT_EQ(spec.epoch_samples(), 400u);
  for (uint64_t place = 0; place < 400; ++place) {
    EXPECT_EQ(planned[place], spec.mixture->SampleAt(spec.order, {}, 7, 1, place));
    EXPECT_EQ(planned[place], PlannedAt(spec, {1, place}));
  }
}

// A small part's samples are repeated within an epoch.
TEST(SamplesTest, InAMixtureAStandInIsOfTheSamePartAndRepeatedSamplesAreDrawnDifferently) {
  const FeedSpec spec = Mixed();

  for (uint32_t attempt = 1; attempt <= 100; ++attempt) {
    EXPECT_LT(StandInFor(spec, 0, 899, attempt), 900u);
    EXPECT_GE(StandInFor(spec, 0, 900, attempt), 900u);
  }
  EXPECT_NE(ToDrawKey(spec, {0, 1}, 950).sample, ToDrawKey(spec, {0, 2}, 950).sample);
}

TEST(SamplesTest, AGivenOrderOfAMixtureIsThatOrder) {
  FeedSpec spec = Mixed();
  spec.given = SpecOf({30, 10, 999}).given;

  EXPECT_EQ(spec.epoch_samples(), 3u);
  EXPECT_EQ(PlannedAt(spec, {5, 2}), 999u);
}

TEST(SamplesTest, OrdersAreToldInWords) {
  FeedSpec windowed = Shuffled();
  windowed.order = plan::Order::kShuffledInWindows;
  windowed.windows = {.shard_samples = 1000, .shards = 16};
  windowed.range = {.first = 10, .count = 90};

  FeedSpec in_order;
  in_order.samples = 5;

  EXPECT_EQ(OrderWords(Shuffled()), "shuffled");
  EXPECT_EQ(OrderWords(in_order), "sequential");
  EXPECT_EQ(OrderWords(SpecOf({1, 2})), "given, 2 samples");
  EXPECT_EQ(OrderWords(Mixed()), "mixture, shuffled");
  EXPECT_EQ(OrderWords(windowed),
            "shuffled in windows of 16 shards of 1000 samples, samples 10 to 99");
}

TEST(SamplesTest, TwoSamplesAtOnePlaceOfTwoOrdersAreDrawnDifferently) {
  EXPECT_NE(ToDrawKey(SpecOf({1, 2}), {0, 1}, 2).sample,
            ToDrawKey(SpecOf({1, 3}), {0, 1}, 3).sample);
}

}  // namespace
}  // namespace penstock::feed
