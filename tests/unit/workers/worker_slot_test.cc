#include "server/workers/worker_slot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>

namespace penstock::workers {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr posix::Exit kKilled{.signalled = true, .code = SIGKILL};

TEST(DeathTest, AKillFromOutsideIsNoStrike) {
  EXPECT_EQ(EndOf(Verdict::kNone, kKilled).kind, OutcomeKind::kLost);
}

TEST(DeathTest, AWorkerThatWeKilledBecauseItDidNotReadIsNoStrike) {
  EXPECT_EQ(EndOf(Verdict::kDoesNotRead, kKilled).kind, OutcomeKind::kLost);
}

TEST(DeathTest, ACrashAndAnExitAreStrikes) {
  for (const posix::Exit exit :
       {posix::Exit{.signalled = true, .code = SIGSEGV},
        posix::Exit{.signalled = true, .code = SIGXCPU}, posix::Exit{.signalled = false, .code = 1},
        posix::Exit{.signalled = false, .code = 0}}) {
    const WorkerQueue::InHandEnds ends = EndOf(Verdict::kNone, exit);
    EXPECT_EQ(ends.kind, OutcomeKind::kStrike);
    EXPECT_EQ(ends.fault, base::Fault::kWorkerCrashed);
  }
}

TEST(DeathTest, OurKillForATimeOutIsAStrikeThatSaysSo) {
  const WorkerQueue::InHandEnds ends = EndOf(Verdict::kTimedOut, kKilled);

  EXPECT_EQ(ends.kind, OutcomeKind::kStrike);
  EXPECT_EQ(ends.fault, base::Fault::kTimeout);
}

TEST(DeathTest, ItIsDescribedForPeople) {
  EXPECT_THAT(Describe(Verdict::kNone, {.signalled = true, .code = SIGSEGV}),
              HasSubstr("signal 11"));
  EXPECT_THAT(Describe(Verdict::kNone, {.signalled = false, .code = 3}), HasSubstr("exit code 3"));
  EXPECT_THAT(Describe(Verdict::kTimedOut, kKilled), HasSubstr("too long"));
}

TEST(UtilisationTest, ItIsTheBusyShareOfTheTimeThatPassed) {
  Utilisation utilisation;
  const base::TimePoint start{seconds(100)};
  utilisation.Restart(start);

  utilisation.Update(start + milliseconds(999), 999'000'000);
  EXPECT_EQ(utilisation.value(), 0);
  utilisation.Update(start + seconds(2), 500'000'000);
  EXPECT_DOUBLE_EQ(utilisation.value(), 0.25);
  utilisation.Update(start + seconds(3), 1'500'000'000);
  EXPECT_DOUBLE_EQ(utilisation.value(), 1.0);
}

TEST(UtilisationTest, AWorkersNonsenseStaysBetweenNothingAndAll) {
  Utilisation utilisation;
  const base::TimePoint start{seconds(100)};
  utilisation.Restart(start);

  utilisation.Update(start + seconds(1), UINT64_MAX);
  EXPECT_EQ(utilisation.value(), 1.0);
  utilisation.Update(start + seconds(2), 0);
  EXPECT_EQ(utilisation.value(), 0.0);
}

}  // namespace
}  // namespace penstock::workers
