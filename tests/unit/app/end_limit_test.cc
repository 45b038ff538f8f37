#include "server/app/end_limit.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace penstock::app {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(EndLimitDeathTest, AnEndThatTakesTooLongIsCutOffWithTheExitCodeThatItHad) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");

  EXPECT_EXIT(
      {
        const EndLimit limit(milliseconds(20), 7);
        for (;;) ::pause();
      },
      ::testing::ExitedWithCode(7), "ended_without_waiting");
}

TEST(EndLimitTest, AnEndInTimeIsNotDisturbedAndDoesNotWait) {
  const base::TimePoint before = base::Now();

  { const EndLimit limit(hours(1), 7); }

  EXPECT_LT(base::Now() - before, std::chrono::minutes(1));
}

}  // namespace
}  // namespace penstock::app
