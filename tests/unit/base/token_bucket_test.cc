#include "common/base/token_bucket.h"

#include <gtest/gtest.h>

namespace penstock::base {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kNow{seconds(1'000'000)};

int TakeAll(TokenBucket& bucket, TimePoint now) {
  int taken = 0;
  while (bucket.TryTake(now)) ++taken;
  return taken;
}

TEST(TokenBucketTest, ABurstAtOnceThenOneAfterTheOther) {
  TokenBucket bucket({.per_second = 10, .burst = 2});

  EXPECT_TRUE(bucket.TryTake(kNow));
  EXPECT_TRUE(bucket.TryTake(kNow));
  EXPECT_FALSE(bucket.TryTake(kNow));
  EXPECT_FALSE(bucket.TryTake(kNow + milliseconds(99)));
  EXPECT_TRUE(bucket.TryTake(kNow + milliseconds(100)));
  EXPECT_FALSE(bucket.TryTake(kNow + milliseconds(100)));
}

TEST(TokenBucketTest, ItIsFullWhereverTimeBegins) {
  TokenBucket bucket({.per_second = 10, .burst = 3});

  EXPECT_EQ(TakeAll(bucket, TimePoint()), 3);
}

TEST(TokenBucketTest, TheWaitLeadsToTheNextToken) {
  TokenBucket bucket({.per_second = 3, .burst = 5});
  EXPECT_EQ(bucket.Wait(kNow), Duration::zero());
  TakeAll(bucket, kNow);

  const Duration wait = bucket.Wait(kNow);

  EXPECT_FALSE(bucket.TryTake(kNow + wait - Duration(1)));
  EXPECT_TRUE(bucket.TryTake(kNow + wait));
}

TEST(TokenBucketTest, ARefusalCostsNothing) {
  TokenBucket bucket({.per_second = 10, .burst = 1});
  bucket.TryTake(kNow);

  for (int i = 0; i < 100; ++i) EXPECT_FALSE(bucket.TryTake(kNow));

  EXPECT_TRUE(bucket.TryTake(kNow + milliseconds(100)));
}

TEST(TokenBucketTest, APauseIsWorthABurstAndNoMore) {
  TokenBucket bucket({.per_second = 100, .burst = 3});
  for (int i = 0; i < 10; ++i) bucket.Take(kNow);

  EXPECT_EQ(TakeAll(bucket, kNow + seconds(3600)), 3);
}

TEST(TokenBucketTest, OverAMinuteItIsTheRate) {
  TokenBucket bucket({.per_second = 10, .burst = 10});
  int taken = 0;

  for (int i = 0; i < 6000; ++i) taken += TakeAll(bucket, kNow + i * milliseconds(10));

  EXPECT_GE(taken, 605);
  EXPECT_LE(taken, 611);
}

TEST(TokenBucketTest, ADebtIsWaitedForInOrder) {
  TokenBucket bucket({.per_second = 100, .burst = 3});

  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.Take(kNow), Duration::zero());
  EXPECT_EQ(bucket.Take(kNow), milliseconds(10));
  EXPECT_EQ(bucket.Take(kNow), milliseconds(20));
  EXPECT_EQ(bucket.Take(kNow + milliseconds(5)), milliseconds(25));
}

TEST(TokenBucketTest, WhoeverComesAtTheRateNeverWaits) {
  TokenBucket bucket({.per_second = 100, .burst = 1});

  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(bucket.Take(kNow + i * milliseconds(10)), Duration::zero());
}

TEST(TokenBucketTest, ATokenThatIsGivenBackIsTheNextOnes) {
  TokenBucket bucket({.per_second = 100, .burst = 1});
  for (int i = 0; i < 5; ++i) bucket.Take(kNow);

  for (int i = 0; i < 4; ++i) bucket.GiveBack();

  EXPECT_EQ(bucket.Take(kNow), milliseconds(10));
}

TEST(TokenBucketTest, WithoutABurstEachTokenTakesItsTime) {
  TokenBucket bucket({.per_second = 10, .burst = 0});

  EXPECT_EQ(bucket.Wait(kNow), milliseconds(100));
  EXPECT_EQ(bucket.Take(kNow), milliseconds(100));
}

}  // namespace
}  // namespace penstock::base
