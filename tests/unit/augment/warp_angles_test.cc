#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "server/augment/warp/angles.h"

namespace penstock::augment {
namespace {

// The reference has at least eleven bits more than a double. Rounding it to a double errs where it
// is about half way between two; then both are accepted.
::testing::AssertionResult IsNearest(double found, long double exact) {
  const auto nearest = static_cast<double>(exact);
  if (found == nearest) return ::testing::AssertionSuccess();
  const long double half = (static_cast<long double>(found) + nearest) / 2;
  const bool tie =
      std::fabs((exact - half) / exact) <= 4 * std::numeric_limits<long double>::epsilon();
  if (tie && std::nextafter(found, nearest) == nearest) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << found << " for " << static_cast<double>(exact);
}

TEST(AnglesTest, AreTheDoublesNearestToTheExactValues) {
  if (std::numeric_limits<long double>::digits < 64)
    GTEST_SKIP() << "no wider type to compare with";
  std::mt19937_64 engine(3);
  for (const double range : {1e-8, 0.5, 3.2, 628.4}) {
    std::uniform_real_distribution<double> numbers(-range, range);
    for (int i = 0; i < 20'000; ++i) {
      const double x = numbers(engine);
      ASSERT_TRUE(IsNearest(Sine(x), std::sin(static_cast<long double>(x)))) << x;
      ASSERT_TRUE(IsNearest(Cosine(x), std::cos(static_cast<long double>(x)))) << x;
      ASSERT_TRUE(IsNearest(Tangent(x), std::tan(static_cast<long double>(x)))) << x;
      ASSERT_TRUE(IsNearest(Arctangent(x), std::atan(static_cast<long double>(x)))) << x;
    }
  }
}

// Where the result is tiny, most of π/2's bits matter.
TEST(AnglesTest, AreExactAtQuarterTurns) {
  EXPECT_EQ(Sine(0), 0);
  EXPECT_EQ(Cosine(0), 1);
  EXPECT_EQ(Tangent(0), 0);
  EXPECT_EQ(Arctangent(0), 0);
  EXPECT_EQ(Cosine(0x1.921fb54442d18p+0), 0x1.1a62633145c07p-54);
  EXPECT_EQ(Sine(0x1.921fb54442d18p+1), 0x1.1a62633145c07p-53);
  EXPECT_EQ(Sine(0x1.921fb54442d18p+0), 1);
  EXPECT_EQ(Arctangent(1), 0x1.921fb54442d18p-1);
}

}  // namespace
}  // namespace penstock::augment
