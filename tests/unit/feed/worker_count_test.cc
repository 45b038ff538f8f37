#include "server/feed/engine/worker_count.h"

#include <gtest/gtest.h>

namespace penstock::feed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class WorkerCountTest : public ::testing::Test {
 protected:
  WorkerCountTest() { EXPECT_TRUE(workers_.Start().ok()); }

  const base::TimePoint now_ = base::TimePoint() + seconds(100);
  workers::Supervisor workers_{{.count = 0}};
  WorkerCount fixed_{workers_, {}};
  WorkerCount automatic_{workers_, WorkerDemand::Options{.most = 8}};
};

TEST_F(WorkerCountTest, AFixedNumberFollowsNobody) {
  EXPECT_EQ(fixed_.policy(), "fixed");
  EXPECT_FALSE(fixed_.IsDue(now_));
}

TEST_F(WorkerCountTest, AnAutomaticOneLooksTenTimesASecond) {
  EXPECT_EQ(automatic_.policy(), "auto, 1 to 8");
  EXPECT_TRUE(automatic_.IsDue(now_));

  automatic_.Follow({}, {.on_average = 1}, now_);

  EXPECT_FALSE(automatic_.IsDue(now_ + milliseconds(99)));
  EXPECT_TRUE(automatic_.IsDue(now_ + milliseconds(100)));
}

TEST_F(WorkerCountTest, ZeroAndTooManyAreRefusedAndChangeNothing) {
  EXPECT_TRUE(absl::IsInvalidArgument(automatic_.Set(0).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(automatic_.Set(1'000'000).status()));

  EXPECT_EQ(automatic_.policy(), "auto, 1 to 8");
}

}  // namespace
}  // namespace penstock::feed
