#include "server/workers/restart.h"

#include <gtest/gtest.h>

#include <chrono>

namespace penstock::workers {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RestartBudgetTest, ItIsSpentUntilTheWindowHasPassed) {
  RestartBudget budget({.restarts = 2, .window = seconds(60)});
  const base::TimePoint start{};

  EXPECT_TRUE(budget.Take(start));
  EXPECT_TRUE(budget.Take(start + seconds(30)));
  EXPECT_FALSE(budget.Take(start + seconds(59)));
  EXPECT_TRUE(budget.Take(start + seconds(60)));
  EXPECT_FALSE(budget.Take(start + seconds(89)));
}

TEST(BackOffTest, PausesDoubleUpToTheLongest) {
  BackOff back_off({.first = milliseconds(100), .longest = milliseconds(500)});

  EXPECT_EQ(back_off.Next(), milliseconds(100));
  EXPECT_EQ(back_off.Next(), milliseconds(200));
  EXPECT_EQ(back_off.Next(), milliseconds(400));
  EXPECT_EQ(back_off.Next(), milliseconds(500));
  EXPECT_EQ(back_off.Next(), milliseconds(500));
}

TEST(BackOffTest, ASuccessBeginsAnew) {
  BackOff back_off({.first = milliseconds(100), .longest = seconds(10)});
  back_off.Next();
  back_off.Next();

  back_off.Reset();

  EXPECT_EQ(back_off.Next(), milliseconds(100));
}

}  // namespace
}  // namespace penstock::workers
