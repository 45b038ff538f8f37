#include "common/telemetry/line_limiter.h"

#include <gtest/gtest.h>

#include "common/base/clock.h"

namespace penstock::telemetry {
namespace {

using std::chrono::milliseconds;

class LineLimiterTest : public testing::Test {
 protected:
  void WriteAll() {
    for (uint32_t line = 0; line < kLinesPerSecond; ++line) ASSERT_TRUE(Ask().write);
  }
  LineLimiter::Decision Ask() { return limiter_.Ask(clock_.Now()); }

  base::ManualClock clock_;
  LineLimiter limiter_;
};

TEST_F(LineLimiterTest, TheEleventhLineAtOnceIsSuppressed) {
  WriteAll();

  EXPECT_FALSE(Ask().write);
  clock_.Advance(milliseconds(99));
  EXPECT_FALSE(Ask().write);
  clock_.Advance(milliseconds(1));
  EXPECT_TRUE(Ask().write);
}

TEST_F(LineLimiterTest, AFloodIsWrittenTenTimesASecond) {
  WriteAll();
  int written = 0;

  for (int ms = 0; ms < 60'000; ++ms) {
    clock_.Advance(milliseconds(1));
    written += Ask().write ? 1 : 0;
  }

  EXPECT_EQ(written, 600);
}

TEST_F(LineLimiterTest, TheNextLineSaysHowManyWereSuppressed) {
  WriteAll();
  for (int line = 0; line < 3; ++line) Ask();
  clock_.Advance(milliseconds(1000));

  const LineLimiter::Decision decision = Ask();

  EXPECT_TRUE(decision.write);
  EXPECT_EQ(decision.suppressed, 3u);
}

TEST_F(LineLimiterTest, SuppressedLinesAreCountedOnce) {
  WriteAll();
  Ask();
  clock_.Advance(milliseconds(1000));
  Ask();

  EXPECT_EQ(Ask().suppressed, 0u);
}

TEST_F(LineLimiterTest, ACallSiteThatWritesTenTimesASecondIsNeverSilenced) {
  for (int line = 0; line < 1000; ++line) {
    const LineLimiter::Decision decision = Ask();
    ASSERT_TRUE(decision.write);
    ASSERT_EQ(decision.suppressed, 0u);
    clock_.Advance(milliseconds(100));
  }
}

}  // namespace
}  // namespace penstock::telemetry
