#include "common/base/exact.h"

#include <gtest/gtest.h>

#include <cmath>

namespace penstock::base {
namespace {

// Values that the Python code of server/plan/README.md gives.
TEST(ExactTest, EqualsTheSpecification) {
  EXPECT_EQ(Log(0.3), -0x1.34378fcbda720p+0);
  EXPECT_EQ(Log(1e300), 0x1.5963447f87fb5p+9);
  EXPECT_EQ(Exp(-3.25), 0x1.3da368521902dp-5);
  EXPECT_EQ(Exp(41.5), 0x1.d47aecf343bd6p+59);
}

TEST(ExactTest, IsNearTheCLibrary) {
  for (int i = 1; i < 2000; ++i) {
    const double x = std::ldexp(1.0 + i / 2000.0, i % 200 - 100);
    EXPECT_NEAR(Log(x), std::log(x), 1e-15 * std::max(1.0, std::abs(std::log(x)))) << x;
    const double power = (i - 1000) * 0.69;
    EXPECT_NEAR(Exp(power) / std::exp(power), 1.0, 1e-13) << power;
  }
}

TEST(ExactTest, KnownValues) {
  EXPECT_EQ(Log(1.0), 0.0);
  EXPECT_EQ(Exp(0.0), 1.0);
  EXPECT_EQ(Exp(1e9), Exp(700.0));
  EXPECT_EQ(Exp(-1e9), Exp(-700.0));
  EXPECT_EQ(PowerOf(16.0, 0x80000000), 4.0);
  EXPECT_EQ(PowerOf(16.0, 0xC0000000), 8.0);
  EXPECT_EQ(PowerOf(3.0, 0), 1.0);
  EXPECT_EQ(UnitOf(0x80000000), 0.5);
  EXPECT_EQ(BelowOf(~0u, 7), 6u);
  EXPECT_GT(OpenUnitOf(0), 0.0);
  EXPECT_LT(OpenUnitOf(~0u), 1.0);
}

}  // namespace
}  // namespace penstock::base
