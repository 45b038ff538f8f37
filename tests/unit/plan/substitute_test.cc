#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "server/plan/plan.h"

namespace penstock::plan {
namespace {

TEST(SubstituteDeathTest, AttemptZeroIsTheSampleItself) {
  EXPECT_DEATH(SubstituteFor(10, 1, 0, 3, 0), "attempt");
}

TEST(SubstituteTest, ItIsAPureFunctionOfSeedEpochSampleAndAttempt) {
  EXPECT_EQ(SubstituteFor(1000, 1, 2, 3, 1), SubstituteFor(1000, 1, 2, 3, 1));
}

TEST(SubstituteTest, EachOfItsArgumentsMatters) {
  constexpr uint64_t kMany = 1'000'000'000'000;
  const std::set<uint64_t> substitutes = {
      SubstituteFor(kMany, 1, 1, 1, 1), SubstituteFor(kMany, 2, 1, 1, 1),
      SubstituteFor(kMany, 1, 2, 1, 1), SubstituteFor(kMany, 1, 1, 2, 1),
      SubstituteFor(kMany, 1, 1, 1, 2)};

  EXPECT_EQ(substitutes.size(), 5u);
}

TEST(SubstituteTest, ItIsAlwaysASampleOfTheDataset) {
  for (uint64_t samples : {uint64_t{1}, uint64_t{2}, uint64_t{7}, kMaxSamples}) {
    for (uint32_t attempt = 1; attempt < 200; ++attempt) {
      ASSERT_LT(SubstituteFor(samples, 1, 0, 0, attempt), samples);
    }
  }
}

TEST(SubstituteTest, EverySampleIsEquallyLikely) {
  constexpr uint64_t kSamples = 20, kDraws = 200'000;
  std::vector<double> counts(kSamples);

  for (uint64_t sample = 0; sample < kDraws; ++sample) {
    ++counts[SubstituteFor(kSamples, 5, 0, sample, 1)];
  }

  double chi_square = 0;
  constexpr double kExpected = static_cast<double>(kDraws) / kSamples;
  for (double count : counts) chi_square += (count - kExpected) * (count - kExpected) / kExpected;
  EXPECT_LT(chi_square, 45);  // 19 degrees of freedom: once in a thousand
}

}  // namespace
}  // namespace penstock::plan
