// Each repeat of a sample within an epoch gets a new draw: on any rank, in any order, as padding,
// or as a substitute.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "server/feed/identity/samples.h"

namespace penstock::feed {
namespace {

using Samples = std::vector<uint64_t>;

FeedSpec Given(const Samples& order, plan::GivenBy by = {}) {
  plan::GivenOrderBuilder builder(order.size());
  EXPECT_TRUE(builder.Add(order).ok());
  FeedSpec spec;
  spec.samples = 1000;
  spec.seed = 7;
  spec.given = std::make_shared<const plan::GivenOrder>(builder.Finish().value());
  spec.given_by = by;
  return spec;
}

FeedSpec Shuffled(uint64_t samples) {
  FeedSpec spec;
  spec.samples = samples;
  spec.order = plan::Order::kShuffled;
  spec.seed = 7;
  return spec;
}

// Follows torchvision's sampler for repeated augmentation: each sample of a shuffled epoch comes
// `repeats` times in a row. The list is padded from its beginning to a multiple of the ranks, and
// dealt out to them in turn.
std::vector<Samples> Repeated(uint64_t samples, uint32_t ranks, uint32_t repeats) {
  Samples epoch(samples);
  std::iota(epoch.begin(), epoch.end(), 0);
  std::shuffle(epoch.begin(), epoch.end(), std::mt19937_64(samples));
  const uint64_t whole = samples * repeats;
  const uint64_t padded = (whole + ranks - 1) / ranks * ranks;
  std::vector<Samples> dealt(ranks);
  for (uint64_t at = 0; at < padded; ++at) dealt[at % ranks].push_back(epoch[at % whole / repeats]);
  return dealt;
}

// Adds each position's draw key by sample, for one epoch of the feed.
void NoteDraws(const FeedSpec& spec, uint64_t rows, std::multimap<uint64_t, uint64_t>& draws) {
  for (uint64_t place = 0; place < rows; ++place) {
    const uint64_t sample = PlannedAt(spec, {3, place});
    draws.emplace(sample, ToDrawKey(spec, {3, place}, sample).sample);
  }
}

bool NoneTwice(const std::multimap<uint64_t, uint64_t>& draws) {
  return std::set(draws.begin(), draws.end()).size() == draws.size();
}

TEST(RepeatsTest, EveryRepeatOfASampleIsDrawnAnewOnWhicheverRankItComes) {
  for (const uint32_t ranks : {1, 2, 3}) {
    // If repeats equals ranks, all ranks have the same order.
    for (const uint32_t repeats : {2, 3}) {
      std::multimap<uint64_t, uint64_t> draws;
      const std::vector<Samples> dealt = Repeated(106, ranks, repeats);
      for (uint32_t rank = 0; rank < ranks; ++rank)
        NoteDraws(Given(dealt[rank], {rank, ranks}), dealt[rank].size(), draws);

      EXPECT_GE(draws.size(), 106u * repeats);
      EXPECT_TRUE(NoneTwice(draws)) << ranks << " ranks, " << repeats << " repeats";
    }
  }
}

TEST(RepeatsTest, WhatIsDealtOutToRanksIsDrawnAsInTheOneOrderThatWasDealt) {
  const FeedSpec one = Given(Repeated(40, 1, 3)[0]);
  const std::vector<Samples> dealt = Repeated(40, 3, 3);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    const FeedSpec own = Given(dealt[rank], {rank, 3});
    for (uint64_t place = 0; place < dealt[rank].size(); ++place) {
      const uint64_t sample = PlannedAt(own, {1, place}), in_all = place * 3 + rank;
      ASSERT_EQ(PlannedAt(one, {1, in_all}), sample);
      ASSERT_EQ(ToDrawKey(own, {1, place}, sample).sample,
                ToDrawKey(one, {1, in_all}, sample).sample);
    }
  }
}

TEST(RepeatsTest, PaddingIsDrawnAnewHoweverOftenItGoesRound) {
  FeedSpec mixed = Shuffled(1000);
  mixed.mixture = std::make_shared<const plan::Mixture>(
      plan::Mixture::Make({.samples = {900, 100}, .epoch_samples = 40, .schedule = {{0, {1, 1}}}})
          .value());
  for (const FeedSpec& spec : {Shuffled(40), Given({5, 6, 5}), mixed}) {
    std::multimap<uint64_t, uint64_t> draws;
    NoteDraws(spec, 3 * spec.epoch_samples() + 1, draws);

    EXPECT_TRUE(NoneTwice(draws)) << OrderWords(spec);
    EXPECT_EQ(PlannedAt(spec, {3, spec.epoch_samples()}), PlannedAt(spec, {3, 0}));
  }
}

TEST(RepeatsTest, AStandInIsDrawnAnewInEveryPlace) {
  const FeedSpec spec = Shuffled(40);
  const uint64_t stand_in = PlannedAt(spec, {3, 9});
  std::set<uint64_t> draws;
  for (const uint64_t place : {4, 5, 9}) draws.insert(ToDrawKey(spec, {3, place}, stand_in).sample);

  EXPECT_EQ(draws.size(), 3u);
}

TEST(RepeatsTest, WhatComesOnceIsDrawnByItsNumberAndAnOrderForAllRanksByItsPlaces) {
  const FeedSpec plain = Shuffled(40), given = Given({5, 6, 5});
  for (uint64_t place = 0; place < 40; ++place) {
    const uint64_t sample = PlannedAt(plain, {3, place});
    EXPECT_EQ(ToDrawKey(plain, {3, place}, sample).sample, sample);
  }
  for (uint64_t place = 0; place < 3; ++place) {
    const uint64_t sample = PlannedAt(given, {3, place});
    EXPECT_EQ(ToDrawKey(given, {3, place}, sample).sample, plan::DrawNumber(place, sample));
  }
}

}  // namespace
}  // namespace penstock::feed
