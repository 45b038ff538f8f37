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

}  // namespace
}  // namespace penstock::workers
