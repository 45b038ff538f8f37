// Orders are well mixed: chi-square tests over seeds. Every test is a pure function of fixed seeds,
// so it always passes or always fails.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "server/plan/plan.h"

namespace penstock::plan {
namespace {

// The number of standard deviations by which chi-square exceeds its mean, for counts expected to be
// equal. For a good order it is within ±4, except in one test in ten thousand.
double Excess(const std::vector<uint64_t>& counts) {
  double total = 0;
  for (uint64_t count : counts) total += static_cast<double>(count);
  const double expected = total / static_cast<double>(counts.size());
  double chi_square = 0;
  for (uint64_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    chi_square += off * off / expected;
  }
  const double freedom = static_cast<double>(counts.size()) - 1;
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

constexpr double kTolerated = 4.5;

// The order's rank among all orders of its length.
uint64_t RankOf(const Permutation& permutation, uint64_t samples) {
  uint64_t rank = 0;
  for (uint64_t i = 0; i < samples; ++i) {
    uint64_t smaller = 0;
    for (uint64_t j = i + 1; j < samples; ++j) smaller += permutation(j) < permutation(i);
    rank = rank * (samples - i) + smaller;
  }
  return rank;
}

TEST(MixingTest, ABadMixFailsTheTestUsedHere) {
  std::vector<uint64_t> counts(10, 1000);
  counts[3] = 1200;

  EXPECT_GT(Excess(counts), kTolerated);
}

TEST(MixingTest, AllOrdersOfTwoToSixSamplesAreEquallyLikely) {
  uint64_t orders = 1;
  for (uint64_t samples = 2; samples <= 6; ++samples) {
    orders *= samples;
    std::vector<uint64_t> counts(orders);
    for (uint64_t seed = 0; seed < 100'000; ++seed) {
      ++counts[RankOf(Permutation(samples, seed, 0), samples)];
    }
    EXPECT_LT(Excess(counts), kTolerated) << samples;
  }
}

TEST(MixingTest, EverySampleIsEquallyLikelyAtEveryPlaceOfTinyOrders) {
  for (uint64_t samples = 2; samples <= 10; ++samples) {
    for (uint64_t place = 0; place < samples; ++place) {
      std::vector<uint64_t> counts(samples);
      for (uint64_t seed = 0; seed < 20'000; ++seed) ++counts[Permutation(samples, seed, 0)(place)];
      EXPECT_LT(Excess(counts), kTolerated) << samples << " at " << place;
    }
  }
}

TEST(MixingTest, OddAndEvenOrdersAreEquallyLikely) {
  for (uint64_t samples : {8, 9, 10, 16, 17, 64}) {
    std::vector<uint64_t> counts(2);
    for (uint64_t seed = 0; seed < 5'000; ++seed) {
      const Permutation permutation(samples, seed, 0);
      uint64_t inversions = 0;
      for (uint64_t i = 0; i < samples; ++i) {
        for (uint64_t j = i + 1; j < samples; ++j) inversions += permutation(j) < permutation(i);
      }
      ++counts[inversions % 2];
    }
    EXPECT_LT(Excess(counts), kTolerated) << samples;
  }
}

TEST(MixingTest, TheFirstSampleIsUniformOverSeeds) {
  for (uint64_t samples : {11, 100, 257, 1000, 4097}) {
    std::vector<uint64_t> counts(samples);
    for (uint64_t seed = 0; seed < 50 * samples; ++seed) ++counts[Permutation(samples, seed, 0)(0)];
    EXPECT_LT(Excess(counts), kTolerated) << samples;
  }
}

TEST(MixingTest, TheFirstSampleIsUniformOverEpochs) {
  constexpr uint64_t kSamples = 1000;
  std::vector<uint64_t> counts(kSamples);

  for (uint64_t epoch = 0; epoch < 50 * kSamples; ++epoch)
    ++counts[Permutation(kSamples, 1, epoch)(0)];

  EXPECT_LT(Excess(counts), kTolerated);
}

// The distance between neighbours in the order is random: every non-zero distance is equally
// likely.
TEST(MixingTest, NeighboursInOrderAreUnrelated) {
  for (uint64_t samples : {17, 100, 257, 1000}) {
    std::vector<uint64_t> next(samples), far(samples);
    for (uint64_t seed = 0; seed < 100 * samples; ++seed) {
      const Permutation permutation(samples, seed, 0);
      ++next[(permutation(1) + samples - permutation(0)) % samples];
      ++far[(permutation(samples / 2) + samples - permutation(0)) % samples];
    }
    EXPECT_EQ(next[0] + far[0], 0u);
    next.erase(next.begin());
    far.erase(far.begin());
    EXPECT_LT(Excess(next), kTolerated) << samples;
    EXPECT_LT(Excess(far), kTolerated) << samples;
  }
}

TEST(MixingTest, WithinOneLargeOrderNeighboursFillAllPairsOfRegionsEqually) {
  constexpr uint64_t kSamples = 1'000'000, kRegions = 16;
  const Permutation permutation(kSamples, 7, 0);
  std::vector<uint64_t> counts(kRegions * kRegions);

  uint64_t before = permutation(0);
  for (uint64_t i = 1; i < kSamples; ++i) {
    const uint64_t now = permutation(i);
    ++counts[before * kRegions / kSamples * kRegions + now * kRegions / kSamples];
    before = now;
  }

  EXPECT_LT(Excess(counts), kTolerated);
}

TEST(MixingTest, HowFarASampleMovesIsUniform) {
  constexpr uint64_t kSamples = 1'000'000, kRegions = 64;
  const Permutation permutation(kSamples, 8, 0);
  std::vector<uint64_t> counts(kRegions);

  for (uint64_t i = 0; i < kSamples; ++i) {
    ++counts[(permutation(i) + kSamples - i) % kSamples * kRegions / kSamples];
  }

  EXPECT_LT(Excess(counts), kTolerated);
}

// A sample's position in one epoch says nothing about its position in another epoch or with another
// seed.
TEST(MixingTest, EpochsAndSeedsAreIndependent) {
  constexpr uint64_t kSamples = 500'000, kRegions = 16;
  const Permutation base(kSamples, 3, 0);
  for (const auto& [seed, epoch] : {std::pair<uint64_t, uint64_t>{3, 1}, {3, 2}, {4, 0}, {0, 3}}) {
    const Permutation other(kSamples, seed, epoch);
    std::vector<uint64_t> counts(kRegions * kRegions);
    for (uint64_t i = 0; i < kSamples; ++i) {
      ++counts[base(i) * kRegions / kSamples * kRegions + other(i) * kRegions / kSamples];
    }
    EXPECT_LT(Excess(counts), kTolerated) << seed << " " << epoch;
  }
}

}  // namespace
}  // namespace penstock::plan
