#include "common/telemetry/limiter.h"

#include <gtest/gtest.h>

#include "common/base/clock.h"

namespace penstock::telemetry {
namespace {

using std::chrono::milliseconds;

class LimiterTest : public testing::Test {
 protected:
  void WriteAll() {
    for (size_t line = 0; line < kLinesPerSecond; ++line) ASSERT_TRUE(Ask().write);
  }
  Limiter::Verdict Ask() { return limiter_.Ask(clock_.Now()); }

  base::ManualClock clock_;
  Limiter limiter_;
};

TEST_F(LimiterTest, TheEleventhLineWithinOneSecondIsLeftOut) {
  WriteAll();

  EXPECT_FALSE(Ask().write);
  clock_.Advance(milliseconds(999));
  EXPECT_FALSE(Ask().write);
}

TEST_F(LimiterTest, NoSecondHoldsMoreThanTenLinesWhereverItBegins) {
  Ask();
  clock_.Advance(milliseconds(900));
  for (size_t line = 1; line < kLinesPerSecond; ++line) ASSERT_TRUE(Ask().write);
  clock_.Advance(milliseconds(100));

  EXPECT_TRUE(Ask().write);
  EXPECT_FALSE(Ask().write);
}

TEST_F(LimiterTest, TheFirstLineAfterASecondSaysHowManyWereLeftOut) {
  WriteAll();
  for (int line = 0; line < 3; ++line) Ask();
  clock_.Advance(milliseconds(1000));

  const Limiter::Verdict verdict = Ask();

  EXPECT_TRUE(verdict.write);
  EXPECT_EQ(verdict.suppressed, 3u);
}

TEST_F(LimiterTest, WhatWasLeftOutIsCountedOnce) {
  WriteAll();
  Ask();
  clock_.Advance(milliseconds(1000));
  Ask();

  EXPECT_EQ(Ask().suppressed, 0u);
}

TEST_F(LimiterTest, APlaceThatWritesTenTimesASecondIsNeverSilenced) {
  for (int line = 0; line < 1000; ++line) {
    const Limiter::Verdict verdict = Ask();
    ASSERT_TRUE(verdict.write);
    ASSERT_EQ(verdict.suppressed, 0u);
    clock_.Advance(milliseconds(100));
  }
}

}  // namespace
}  // namespace penstock::telemetry
