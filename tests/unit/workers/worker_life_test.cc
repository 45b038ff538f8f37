#include "server/workers/worker_life.h"

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
constexpr base::TimePoint kBirth{seconds(100)};
constexpr WorkerLife::TimeOuts kTimeOuts{.start = seconds(10), .sample = seconds(30)};

TEST(DeathTest, AKillFromOutsideIsNoStrike) {
  EXPECT_EQ(EndOf(KillReason::kNone, kKilled).kind, OutcomeKind::kLost);
}

TEST(DeathTest, AWorkerThatWeKilledForNoSamplesSakeIsNoStrike) {
  for (const KillReason reason : {KillReason::kNotReady, KillReason::kDoesNotRead,
                                  KillReason::kNotSent, KillReason::kCrowded})
    EXPECT_EQ(EndOf(reason, kKilled).kind, OutcomeKind::kLost);
}

TEST(DeathTest, ACrashAndAnExitAreStrikes) {
  for (const posix::Exit exit :
       {posix::Exit{.signalled = true, .code = SIGSEGV},
        posix::Exit{.signalled = true, .code = SIGXCPU}, posix::Exit{.signalled = false, .code = 1},
        posix::Exit{.signalled = false, .code = 0}}) {
    const WorkerQueue::InHandEnds ends = EndOf(KillReason::kNone, exit);
    EXPECT_EQ(ends.kind, OutcomeKind::kStrike);
    EXPECT_EQ(ends.fault, base::Fault::kWorkerCrashed);
  }
}

// Even if we also had a reason to kill the worker.
TEST(DeathTest, AForbiddenCallIsAStrikeWithAFaultOfItsOwn) {
  constexpr posix::Exit kForbidden{.signalled = true, .code = SIGSYS};
  for (const KillReason reason : {KillReason::kNone, KillReason::kTimedOut, KillReason::kNotSent}) {
    const WorkerQueue::InHandEnds ends = EndOf(reason, kForbidden);
    EXPECT_EQ(ends.kind, OutcomeKind::kStrike);
    EXPECT_EQ(ends.fault, base::Fault::kForbiddenCall);
    EXPECT_THAT(Describe(reason, kForbidden), HasSubstr("forbidden system call"));
  }
  EXPECT_TRUE(IsForbiddenCall(kForbidden));
  EXPECT_FALSE(IsForbiddenCall({.signalled = false, .code = SIGSYS}));
  EXPECT_FALSE(IsForbiddenCall({.signalled = true, .code = SIGABRT}));
}

TEST(DeathTest, OurKillForATimeOutIsAStrikeThatSaysSo) {
  const WorkerQueue::InHandEnds ends = EndOf(KillReason::kTimedOut, kKilled);

  EXPECT_EQ(ends.kind, OutcomeKind::kStrike);
  EXPECT_EQ(ends.fault, base::Fault::kTimeout);
}

TEST(DeathTest, TheDescriptionSaysWhatKilledIt) {
  EXPECT_THAT(Describe(KillReason::kNone, {.signalled = true, .code = SIGSEGV}),
              HasSubstr("signal 11"));
  EXPECT_THAT(Describe(KillReason::kNone, {.signalled = false, .code = 3}),
              HasSubstr("exit code 3"));
  EXPECT_THAT(Describe(KillReason::kTimedOut, kKilled), HasSubstr("too long"));
}

TEST(WorkerLifeTest, OneThatIsNotReadyInTimeIsKilledOnce) {
  WorkerLife life;

  EXPECT_FALSE(life.CheckTimeOuts(kBirth, false, {}, kTimeOuts));
  EXPECT_FALSE(life.CheckTimeOuts(kBirth + seconds(10), false, {}, kTimeOuts));
  EXPECT_TRUE(life.CheckTimeOuts(kBirth + seconds(11), false, {}, kTimeOuts));

  EXPECT_EQ(life.kill_reason(), KillReason::kNotReady);
  EXPECT_FALSE(life.CheckTimeOuts(kBirth + seconds(12), false, {}, kTimeOuts));
}

TEST(WorkerLifeTest, OneThatWasReadyOnceMayBeBusyForLong) {
  WorkerLife life;
  EXPECT_FALSE(life.CheckTimeOuts(kBirth, true, {}, kTimeOuts));

  EXPECT_FALSE(life.CheckTimeOuts(kBirth + seconds(100), false, {}, kTimeOuts));
  EXPECT_TRUE(life.was_ready());
}

TEST(WorkerLifeTest, ASampleThatTakesTooLongCostsItItsLife) {
  WorkerLife life;
  life.NoteReady(kBirth);

  EXPECT_FALSE(life.CheckTimeOuts(kBirth + seconds(30), true, kBirth, kTimeOuts));
  EXPECT_TRUE(life.CheckTimeOuts(kBirth + milliseconds(30'001), true, kBirth, kTimeOuts));

  EXPECT_EQ(life.kill_reason(), KillReason::kTimedOut);
}

TEST(WorkerLifeTest, ASamplesTimeBeginsOnceTheWorkerIsReady) {
  WorkerLife life;
  EXPECT_FALSE(life.CheckTimeOuts(kBirth, false, kBirth, kTimeOuts));
  EXPECT_FALSE(life.CheckTimeOuts(kBirth + seconds(9), true, kBirth, kTimeOuts));

  EXPECT_FALSE(life.CheckTimeOuts(kBirth + seconds(39), true, kBirth, kTimeOuts));
  EXPECT_TRUE(life.CheckTimeOuts(kBirth + seconds(40), true, kBirth, kTimeOuts));
}

TEST(WorkerLifeTest, TheFirstReasonCounts) {
  WorkerLife life;

  EXPECT_TRUE(life.Condemn(KillReason::kBroken));
  EXPECT_FALSE(life.Condemn(KillReason::kDoesNotRead));

  EXPECT_EQ(life.kill_reason(), KillReason::kBroken);
  EXPECT_FALSE(life.CheckTimeOuts(kBirth + seconds(1000), true, kBirth, kTimeOuts));
}

}  // namespace
}  // namespace penstock::workers
