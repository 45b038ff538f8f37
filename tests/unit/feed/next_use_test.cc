// When a feed needs a sample again, beside a search through the plan.
#include "server/feed/identity/next_use.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace penstock::feed {
namespace {

FeedSpec SpecWith(plan::Order order, uint64_t samples) {
  FeedSpec spec;
  spec.samples = samples;
  spec.order = order;
  spec.seed = 7;
  spec.windows = {.shard_samples = 7, .shards = 3};
  return spec;
}

std::optional<Place> Search(const FeedSpec& spec, uint64_t sample, Place at,
                            const RanksHere& ranks) {
  for (const uint64_t last = at.epoch + kEpochsAhead; at.epoch <= last;) {
    if (++at.place >= spec.epoch_samples()) {
      at = {.epoch = at.epoch + 1, .place = 0};
      if (at.epoch > last) break;
    }
    if (PlannedAt(spec, at) == sample && ranks.Have(at.place)) return at;
  }
  return std::nullopt;
}

void ExpectFound(const FeedSpec& spec, const RanksHere& ranks) {
  for (uint64_t sample = 0; sample < spec.samples; ++sample)
    for (const Place& after :
         {Place{0, 0}, Place{3, spec.epoch_samples() / 2}, Place{5, spec.epoch_samples() - 1}}) {
      const std::optional<Place> found = FindNextPlace(spec, sample, after, ranks);
      const std::optional<Place> wanted = Search(spec, sample, after, ranks);
      ASSERT_EQ(found.has_value(), wanted.has_value()) << sample;
      if (!found) continue;
      ASSERT_EQ(found->epoch, wanted->epoch) << sample;
      ASSERT_EQ(found->place, wanted->place) << sample;
    }
}

TEST(NextUseTest, EveryOrderTellsTheNextPlace) {
  for (const plan::Order order :
       {plan::Order::kSequential, plan::Order::kShuffled, plan::Order::kShuffledInWindows})
    for (const uint64_t samples : {1u, 20u, 40u, 47u})
      ExpectFound(SpecWith(order, samples), {.world = 1, .batch_size = 8, .ranks = {0}});
}

TEST(NextUseTest, OnlyRanksOfThisNodeCount) {
  const FeedSpec spec = SpecWith(plan::Order::kShuffled, 47);
  ExpectFound(spec, {.world = 6, .batch_size = 4, .ranks = {1, 4}});
  ExpectFound(SpecWith(plan::Order::kSequential, 47), {.world = 6, .batch_size = 4, .ranks = {1}});
}

TEST(NextUseTest, OfARangeItsSamplesAlone) {
  FeedSpec spec = SpecWith(plan::Order::kShuffled, 47);
  spec.range = plan::Range{.first = 10, .count = 20};
  ExpectFound(spec, {.world = 1, .batch_size = 8, .ranks = {0}});
}

TEST(NextUseTest, AGivenOrderTellsNothing) {
  FeedSpec spec = SpecWith(plan::Order::kShuffled, 47);
  EXPECT_TRUE(TellsPlaces(spec));
  plan::GivenOrderBuilder builder(1);
  ASSERT_TRUE(builder.Add(std::vector<uint64_t>{3}).ok());
  spec.given = std::make_shared<const plan::GivenOrder>(builder.Finish().value());
  EXPECT_FALSE(TellsPlaces(spec));
}

}  // namespace
}  // namespace penstock::feed
