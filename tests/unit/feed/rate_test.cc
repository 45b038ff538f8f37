#include "server/feed/rate.h"

#include <gtest/gtest.h>

namespace penstock::feed {
namespace {

using std::chrono::milliseconds;

constexpr base::TimePoint kStart{std::chrono::hours(1)};

TEST(RateTest, BeforeASecondHasPassedItStaysWhatItWas) {
  Rate rate;
  rate.Update(kStart, 100);

  rate.Update(kStart + milliseconds(999), 5000);

  EXPECT_EQ(rate.per_second(), 0u);
}

TEST(RateTest, ItIsTheGrowthOverTheLastSecondOrSo) {
  Rate rate;
  rate.Update(kStart, 100);

  rate.Update(kStart + milliseconds(2000), 500);
  EXPECT_EQ(rate.per_second(), 200u);
  rate.Update(kStart + milliseconds(3000), 500);
  EXPECT_EQ(rate.per_second(), 0u);
}

}  // namespace
}  // namespace penstock::feed
