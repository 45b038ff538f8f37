#include "client/finish/coefficients.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace penstock::finish {
namespace {

TEST(CoefficientsTest, DivisorsWhoseInverseLeavesTheRangeAreDividedExactly) {
  EXPECT_FALSE(RemainderIsExact(0.5f, std::numeric_limits<float>::denorm_min()));
}

TEST(CoefficientsTest, ImageNetsDivisorsAreQuick) {
  EXPECT_TRUE(RemainderIsExact(0.485f, 0.229f));
  EXPECT_TRUE(RemainderIsExact(0.456f, 0.224f));
  EXPECT_TRUE(RemainderIsExact(0.406f, 0.225f));
  EXPECT_TRUE(RemainderIsExact(0, 1));
}

TEST(CoefficientsTest, OneDivisorThatIsNotQuickMakesAllExact) {
  const std::vector<float> mean = {0, 0.5f};
  const std::vector<float> stddev = {1, std::numeric_limits<float>::denorm_min()};

  EXPECT_EQ(PrepareCoefficients({.mean = mean, .stddev = stddev}, 2).division, Division::kExact);
}

TEST(CoefficientsTest, ChangedCoefficientsAreNoticed) {
  std::vector<float> mean = {0.25f}, stddev = {0.5f};
  const Spec spec = {.mean = mean, .stddev = stddev};
  ASSERT_EQ(PrepareCoefficients(spec, 1).table.inverse[0], 2.0f);

  stddev[0] = 0.25f;

  EXPECT_EQ(PrepareCoefficients(spec, 1).table.inverse[0], 4.0f);
  EXPECT_EQ(PrepareCoefficients(spec, 1).table.mean[0], 0.25f);
}

}  // namespace
}  // namespace penstock::finish
