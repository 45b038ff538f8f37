#include "server/rpc/transport/turns.h"

#include <gtest/gtest.h>

namespace penstock::rpc {
namespace {

using base::Duration;
using base::TimePoint;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kNow{seconds(1'000'000)};

TEST(TurnsTest, ABurstGoesAtOnceAndThenOneAfterTheOther) {
  Turns turns(/*per_second=*/100, /*burst=*/3);

  for (int i = 0; i < 3; ++i) EXPECT_EQ(turns.Take(kNow), Duration::zero());
  EXPECT_EQ(turns.Take(kNow), milliseconds(10));
  EXPECT_EQ(turns.Take(kNow), milliseconds(20));
  EXPECT_EQ(turns.Take(kNow + milliseconds(5)), milliseconds(25));
}

TEST(TurnsTest, WhoComesAtThePaceNeverWaits) {
  Turns turns(100, 1);

  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(turns.Take(kNow + i * milliseconds(10)), Duration::zero());
}

TEST(TurnsTest, WhatIsGivenBackIsTheNextOnes) {
  Turns turns(100, 1);
  for (int i = 0; i < 5; ++i) turns.Take(kNow);

  for (int i = 0; i < 4; ++i) turns.GiveBack();

  EXPECT_EQ(turns.Take(kNow), milliseconds(10));
}

TEST(TurnsTest, APauseGivesABurstBackAndNoMore) {
  Turns turns(100, 3);
  for (int i = 0; i < 10; ++i) turns.Take(kNow);

  const TimePoint later = kNow + seconds(3600);

  for (int i = 0; i < 3; ++i) EXPECT_EQ(turns.Take(later), Duration::zero());
  EXPECT_EQ(turns.Take(later), milliseconds(10));
}

}  // namespace
}  // namespace penstock::rpc
