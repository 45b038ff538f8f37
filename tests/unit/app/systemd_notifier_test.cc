#include "server/app/systemd_notifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A daemon whose runner completes a pass between any two calls of After, unless it is stuck.
class SystemdNotifierTest : public ::testing::Test {
 protected:
  // Advances the clock and returns the notification.
  std::string After(base::Duration time) {
    clock_.Advance(time);
    if (!stuck_) ++vitals_.passes;
    return systemd_notifier_.Next(vitals_, ready_, clock_.Now());
  }
  // The number of watchdog notifications within `time`, with five calls a second.
  int SignsIn(base::Duration time) {
    int signs = 0;
    for (base::Duration slept{}; slept < time; slept += milliseconds(200))
      signs += After(milliseconds(200)).find("WATCHDOG=1") != std::string::npos;
    return signs;
  }

  base::ManualClock clock_;
  feed::Vitals vitals_ = {.workers = 2, .reserved_bytes = 1 << 20, .pool_bytes = 64 << 20};
  bool stuck_ = false, ready_ = true;
  SystemdNotifier systemd_notifier_{seconds(30)};
};

TEST_F(SystemdNotifierTest, WithoutAWorkerThatAnsweredItIsNeitherReadyNorGivesSignsOfLife) {
  EXPECT_EQ(After(milliseconds(1)), "STATUS=starting; 0 of 2 workers have answered");

  EXPECT_EQ(After(seconds(60)), "");
  EXPECT_FALSE(systemd_notifier_.ready());
}

TEST_F(SystemdNotifierTest, AWorkerThatAnsweredIsNotEnoughUntilABatchCameThrough) {
  vitals_.workers_running = 1;
  ready_ = false;
  EXPECT_EQ(After(milliseconds(1)), "STATUS=starting; 1 of 2 workers have answered");

  ready_ = true;
  EXPECT_THAT(After(milliseconds(200)), HasSubstr("READY=1"));
}

TEST_F(SystemdNotifierTest, ARunnerThatIsStuckGivesNoSignOfLife) {
  vitals_.workers_running = 2;
  EXPECT_GT(SignsIn(seconds(60)), 4);

  stuck_ = true;

  EXPECT_LE(SignsIn(seconds(20)), 1);  // for passes before it got stuck
  EXPECT_EQ(SignsIn(seconds(3600)), 0);
  stuck_ = false;
  EXPECT_GE(SignsIn(seconds(10)), 1);
}

TEST_F(SystemdNotifierTest, WhereNobodyWatchesNoSignIsGiven) {
  SystemdNotifier unwatched{base::Duration(0)};
  vitals_ = {.passes = 7, .workers = 1, .workers_running = 1};

  EXPECT_THAT(unwatched.Next(vitals_, true, clock_.Now()), Not(HasSubstr("WATCHDOG")));
}

TEST_F(SystemdNotifierTest, TheFirstAnswerOfAWorkerMakesItReadyOnce) {
  After(milliseconds(1));
  vitals_.workers_running = 1;

  EXPECT_THAT(After(milliseconds(1)),
              StartsWith("READY=1\nSTATUS=serving 0 sessions; 1.0 MiB of the pool's 64.0 MiB "
                         "reserved; 1 of 2 workers"));

  vitals_.workers_running = 0;  // all of them died
  EXPECT_THAT(After(seconds(2)), Not(HasSubstr("READY")));
  vitals_.workers_running = 2;
  EXPECT_THAT(After(seconds(2)), Not(HasSubstr("READY")));
}

TEST_F(SystemdNotifierTest, SignsOfLifeComeFourTimesATimeoutAtMost) {
  vitals_.workers_running = 2;

  const int signs = SignsIn(seconds(300));

  EXPECT_GE(signs, 36);
  EXPECT_LE(signs, 41);
}

TEST_F(SystemdNotifierTest, TheStatusIsSaidWhenItChangesAndOnceASecondAtMost) {
  vitals_.workers_running = 2;
  After(milliseconds(1));

  vitals_.sessions = 1;
  EXPECT_EQ(After(milliseconds(500)), "");
  vitals_.sessions = 2;
  EXPECT_THAT(After(milliseconds(500)), StartsWith("STATUS=serving 2 sessions;"));
  EXPECT_EQ(After(seconds(2)), "");
}

// TimeoutStopSec= may be shorter than drain_for.
TEST_F(SystemdNotifierTest, TheManagerWaitsAsLongAsDrainingMayTake) {
  EXPECT_EQ(SystemdNotifier::Draining(seconds(600)),
            "STOPPING=1\nSTATUS=ending: draining\nEXTEND_TIMEOUT_USEC=615000000");
}

TEST_F(SystemdNotifierTest, AReasonOfManyLinesStaysOneLine) {
  EXPECT_EQ(SystemdNotifier::Ending("no\nREADY=1\r"), "STOPPING=1\nSTATUS=ending: no READY=1 ");
}

}  // namespace
}  // namespace penstock::app
