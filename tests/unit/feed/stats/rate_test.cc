#include "server/feed/stats/rate.h"

#include <gtest/gtest.h>

namespace penstock::feed {
namespace {

using std::chrono::milliseconds;

constexpr base::TimePoint kRateStart{std::chrono::hours(1)};

TEST(RateTest, BeforeASecondHasPassedItStaysWhatItWas) {
  Rate rate;
  rate.Update(kRateStart, 100);

  rate.Update(kRateStart + milliseconds(999), 5000);

  EXPECT_EQ(rate.per_second(), 0u);
}

TEST(RateTest, ItIsTheGrowthOverTheLastSecondOrSo) {
  Rate rate;
  rate.Update(kRateStart, 100);

  rate.Update(kRateStart + milliseconds(2000), 500);
  EXPECT_EQ(rate.per_second(), 200u);
  rate.Update(kRateStart + milliseconds(3000), 500);
  EXPECT_EQ(rate.per_second(), 0u);
}

}  // namespace
}  // namespace penstock::feed
