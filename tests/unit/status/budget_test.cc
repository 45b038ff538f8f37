#include "server/status/budget.h"

#include <gtest/gtest.h>

namespace penstock::status {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class BudgetTest : public ::testing::Test {
 protected:
  int TakeAll() {
    int taken = 0;
    while (budget_.Take(clock_.Now())) ++taken;
    return taken;
  }

  BudgetTest() { clock_.Advance(seconds(1000)); }
  base::ManualClock clock_;
  Budget budget_{10};
};

TEST_F(BudgetTest, NoMoreBeginAtOnceThanInASecond) { EXPECT_EQ(TakeAll(), 10); }

TEST_F(BudgetTest, ARestOfAnHourIsWorthNoMoreThanASecond) {
  TakeAll();

  clock_.Advance(seconds(3600));

  EXPECT_EQ(TakeAll(), 10);
}

TEST_F(BudgetTest, TheWaitIsUntilTheNextMayBegin) {
  EXPECT_EQ(budget_.Wait(clock_.Now()).count(), 0);
  TakeAll();

  const base::Duration wait = budget_.Wait(clock_.Now());

  EXPECT_GE(wait, milliseconds(99));
  EXPECT_LE(wait, milliseconds(101));
  clock_.Advance(wait);
  EXPECT_EQ(TakeAll(), 1);
}

TEST_F(BudgetTest, OverAMinuteItIsTheRate) {
  int taken = TakeAll();

  for (int i = 0; i < 6000; ++i) {
    clock_.Advance(milliseconds(10));
    taken += TakeAll();
  }

  EXPECT_GE(taken, 605);
  EXPECT_LE(taken, 611);
}

}  // namespace
}  // namespace penstock::status
