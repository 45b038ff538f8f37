// When a request is sent a second time: late ones alone, and few of all.
#include "server/store/client/hedging.h"

#include <gtest/gtest.h>

namespace penstock::store {
namespace {

using std::chrono::milliseconds;

TEST(DurationsTest, AQuantileIsAtMostAFifthTooLong) {
  Durations durations;
  for (int i = 1; i <= 1000; ++i) durations.Add(milliseconds(i));
  for (const double share : {0.1, 0.5, 0.95}) {
    const double found =
        std::chrono::duration<double, std::milli>(durations.Quantile(share)).count();
    EXPECT_GE(found, share * 1000);
    EXPECT_LE(found, share * 1000 * 1.2);
  }
}

TEST(DurationsTest, WhatIsOldCountsLessAndLess) {
  Durations durations;
  for (int i = 0; i < 3000; ++i) durations.Add(milliseconds(10));
  for (int i = 0; i < 20'000; ++i) durations.Add(milliseconds(100));
  EXPECT_GE(durations.Quantile(0.5), milliseconds(100));
  EXPECT_LT(durations.count(), 2048u);
}

TEST(DurationsTest, NothingIsTooShortOrTooLong) {
  Durations durations;
  durations.Add(base::Duration::zero());
  durations.Add(std::chrono::hours(1));
  EXPECT_LT(durations.Quantile(0.5), milliseconds(1));
  EXPECT_GT(durations.Quantile(1), std::chrono::seconds(200));
}

TEST(HedgingTest, NothingIsSentTwiceBeforeEnoughIsKnownOfThatSize) {
  Hedging hedging({});
  for (int i = 0; i < 63; ++i) hedging.End(100'000, milliseconds(30));
  EXPECT_FALSE(hedging.Begin(100'000));
  hedging.End(100'000, milliseconds(30));
  EXPECT_TRUE(hedging.Begin(100'000));
  EXPECT_FALSE(hedging.Begin(10'000'000));
}

TEST(HedgingTest, TheLimitIsAboveThe95thPercentileAndFollowsIt) {
  Hedging hedging({});
  for (int i = 0; i < 1000; ++i) hedging.End(100'000, milliseconds(i % 100 < 90 ? 30 : 60));
  const base::Duration limit = *hedging.Begin(100'000);
  EXPECT_GT(limit, milliseconds(60));
  EXPECT_LT(limit, milliseconds(120));
}

TEST(HedgingTest, SecondRequestsAreAShareOfAll) {
  Hedging hedging({.most_share = 0.02});
  int spent = 0;
  for (int i = 0; i < 10'000; ++i) {
    hedging.Begin(100'000);
    spent += hedging.Spend() ? 1 : 0;
  }
  EXPECT_GE(spent, 195);
  EXPECT_LE(spent, 202);
}

TEST(HedgingTest, ABurstAfterAQuietTimeIsBounded) {
  Hedging hedging({.most_share = 0.02});
  for (int i = 0; i < 100'000; ++i) hedging.Begin(100'000);
  int spent = 0;
  while (hedging.Spend()) ++spent;
  EXPECT_LE(spent, 10);
}

}  // namespace
}  // namespace penstock::store
