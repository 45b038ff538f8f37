#include "penstock/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace penstock {
namespace {

using ::testing::HasSubstr;

std::vector<uint64_t> Draw(const std::vector<double>& weights, uint64_t count, uint64_t seed = 1,
                           uint64_t epoch = 0) {
  return DrawWeighted(weights, count, seed, epoch).OrDie();
}

std::string Refusal(const std::vector<double>& weights, uint64_t count) {
  const auto drawn = DrawWeighted(weights, count, 1, 0);
  EXPECT_EQ(drawn.status().code(), Code::kInvalidArgument);
  return drawn.status().message();
}

TEST(SamplingTest, WeightsThatSayNothingAreRefusedInWords) {
  EXPECT_THAT(Refusal({}, 1), HasSubstr("no weights"));
  EXPECT_THAT(Refusal({1}, 0), HasSubstr("at least 1"));
  EXPECT_THAT(Refusal({1, -0.5}, 1), HasSubstr("sample 1: got -0.5"));
  EXPECT_THAT(Refusal({std::numeric_limits<double>::quiet_NaN()}, 1),
              HasSubstr("sample 0: got nan"));
  EXPECT_THAT(Refusal({1, 2, HUGE_VAL}, 1), HasSubstr("sample 2: got inf"));
  EXPECT_THAT(Refusal({0, 0}, 1), HasSubstr("all weights are 0"));
  EXPECT_THAT(Refusal({1e308, 1e308}, 1), HasSubstr("scale them down"));
}

TEST(SamplingTest, WithoutWeightASampleNeverComes) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    for (const uint64_t sample : Draw({0, 0.1, 0, 0.7, 0.1, 0.1, 0}, 500, seed)) {
      ASSERT_NE(sample, 0u);
      ASSERT_NE(sample, 2u);
      ASSERT_NE(sample, 6u);
    }
  }
  EXPECT_EQ(Draw({0, 0, 3}, 4), (std::vector<uint64_t>{2, 2, 2, 2}));
}

TEST(SamplingTest, SamplesComeAsOftenAsTheirWeightsSay) {
  const std::vector<double> weights = {5, 1, 0.5, 2, 0, 1.5, 10};
  constexpr double kDraws = 500'000, kTotal = 20;
  std::vector<double> counts(weights.size());

  for (const uint64_t sample : Draw(weights, kDraws, 7)) ++counts[sample];

  double chi_square = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double expected = kDraws * weights[i] / kTotal;
    if (expected > 0) chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  EXPECT_LT(chi_square, 20.5);  // 5 degrees of freedom: p = 0.001
  EXPECT_EQ(counts[4], 0);
}

TEST(SamplingTest, NeighboursAreDrawnIndependently) {
  std::vector<double> counts(16);
  const std::vector<uint64_t> order = Draw({1, 1, 1, 1}, 400'001, 3);

  for (size_t i = 1; i < order.size(); ++i) ++counts[order[i - 1] * 4 + order[i]];

  double chi_square = 0;
  for (const double count : counts) chi_square += (count - 25'000) * (count - 25'000) / 25'000;
  EXPECT_LT(chi_square, 37.7);  // 15 degrees of freedom: p = 0.001
}

TEST(SamplingTest, TheSameNumbersGiveTheSameOrderAndOnlyWeightsRatiosCount) {
  const std::vector<double> weights = {1, 2, 3, 4};

  EXPECT_EQ(Draw(weights, 100, 5, 6), Draw(weights, 100, 5, 6));
  EXPECT_EQ(Draw(weights, 100, 5, 6), Draw({2, 4, 6, 8}, 100, 5, 6));
  EXPECT_NE(Draw(weights, 100, 5, 6), Draw(weights, 100, 6, 6));
  EXPECT_NE(Draw(weights, 100, 5, 6), Draw(weights, 100, 5, 7));
}

TEST(SamplingTest, AShorterOrderIsTheBeginningOfALongerOne) {
  std::vector<uint64_t> longer = Draw({1, 2, 3}, 1000);
  longer.resize(10);

  EXPECT_EQ(Draw({1, 2, 3}, 10), longer);
}

TEST(SamplingTest, TheOrderIsTheOneThatWasPublished) {
  EXPECT_EQ(Draw({1, 2, 3, 4}, 10, 42, 1), (std::vector<uint64_t>{2, 0, 1, 1, 3, 3, 1, 1, 3, 3}));
}

}  // namespace
}  // namespace penstock
