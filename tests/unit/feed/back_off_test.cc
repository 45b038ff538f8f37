#include "server/feed/core/back_off.h"

#include <gtest/gtest.h>

namespace penstock::feed {
namespace {

using std::chrono::microseconds;

TEST(BackOffTest, WaitsDoubleToFiveMillisecondsAndStayThere) {
  BackOff back_off;

  for (int us : {50, 100, 200, 400, 800, 1600, 3200, 5000, 5000})
    EXPECT_EQ(back_off.Next(), microseconds(us));
}

TEST(BackOffTest, OnceSomethingHappenedItLooksAgainSoon) {
  BackOff back_off;
  for (int i = 0; i < 20; ++i) back_off.Next();

  back_off.Reset();

  EXPECT_EQ(back_off.Next(), microseconds(50));
}

}  // namespace
}  // namespace penstock::feed
