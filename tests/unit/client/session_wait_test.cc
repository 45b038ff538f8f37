// Waiting: the message when no batch arrives, the error when a session holds its whole window, and
// the statistics.
#include <chrono>
#include <thread>

#include "tests/unit/client/session_fixture.h"

namespace penstock::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

class SessionWaitTest : public SessionCoreTest {
 protected:
  // Takes a whole window of batches.
  std::vector<Batch> TakeAll(SessionCore& session) {
    std::vector<Batch> held;
    for (uint32_t i = 0; i < kSlots; ++i) {
      daemon_.AnnounceNext();
      held.push_back(session.Next(kNow).OrDie());
    }
    return held;
  }
  static double SecondsSince(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
};

// ---- Holding the whole window. ----

TEST_F(SessionWaitTest, WhoHoldsTheWholeWindowIsToldSoWithinASecondOrTwo) {
  SessionCore session = Open();
  const std::vector<Batch> held = TakeAll(session);
  const auto begin = std::chrono::steady_clock::now();

  const Status status = session.Next(std::chrono::minutes(5)).status();

  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("this consumer holds 4 batches, all that its window has"),
                    HasSubstr("release one, or open the session with a larger window")));
  EXPECT_GE(SecondsSince(begin), 0.9);
  EXPECT_LT(SecondsSince(begin), 5);
  EXPECT_THAT(daemon_.link->asked_for, IsEmpty());
}

TEST_F(SessionWaitTest, WithLessTimeThanThatItIsToldSoWhenTheTimeIsUpAndNextTimeAtOnce) {
  SessionCore session = Open();
  const std::vector<Batch> held = TakeAll(session);

  EXPECT_EQ(session.Next(kNow).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(session.Next(seconds(20)).status().code(), Code::kResourceExhausted);
  const auto begin = std::chrono::steady_clock::now();

  EXPECT_EQ(session.Next(seconds(20)).status().code(), Code::kResourceExhausted);
  EXPECT_LT(SecondsSince(begin), 0.5);
}

TEST_F(SessionWaitTest, ABatchThatAnotherThreadReleasesInTimeLetsTheNextOneCome) {
  SessionCore session = Open();
  std::vector<Batch> held = TakeAll(session);
  std::thread other([&] {
    while (daemon_.page().consumer_asleep.load() == 0) std::this_thread::yield();
    held.clear();
    daemon_.AnnounceNext();
  });

  const Result<Batch> next = session.Next(seconds(30));

  other.join();
  EXPECT_TRUE(next.ok()) << next.status().ToString();
}

TEST_F(SessionWaitTest, WaitReadyHasAnAnswerForWhoHoardsAndNextGivesIt) {
  SessionCore session = Open();
  const std::vector<Batch> held = TakeAll(session);

  EXPECT_FALSE(*session.WaitReady(milliseconds(20)));
  EXPECT_TRUE(*session.WaitReady(seconds(20)));

  EXPECT_EQ(session.Next(seconds(20)).status().code(), Code::kResourceExhausted);
}

TEST_F(SessionWaitTest, AReleaseEndsTheHoarding) {
  SessionCore session = Open();
  std::vector<Batch> held = TakeAll(session);
  ASSERT_TRUE(*session.WaitReady(seconds(20)));

  held.pop_back();

  EXPECT_EQ(session.Next(milliseconds(20)).status().code(), Code::kDeadlineExceeded);
}

// ---- The slow stage. ----

TEST_F(SessionWaitTest, WhenTheTimeIsUpTheSlowStageIsNamed) {
  daemon_.link->progress->phase = SessionPhase::kStalled;
  daemon_.link->progress->stalled_ms = 7000;
  daemon_.link->progress->stalled_reason = "/data/7.jpg: Stale file handle";
  SessionCore session = Open();

  const Status status = session.Next(milliseconds(50)).status();

  EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(status.message(), HasSubstr("reading: the source has stalled for 7 s: /data/7.jpg"));
}

TEST_F(SessionWaitTest, TheDaemonIsAskedForNoLongerThanWasWaitedAndASecondAtMost) {
  SessionCore session = Open();

  EXPECT_EQ(session.Next(kNow).status().message(), "no batch was ready");
  EXPECT_THAT(daemon_.link->asked_for, IsEmpty());
  (void)session.Next(milliseconds(30));
  ASSERT_THAT(daemon_.link->asked_for, SizeIs(1));

  EXPECT_THAT(daemon_.link->asked_for[0], Le(seconds(1)));
  EXPECT_GE(daemon_.link->asked_for[0], milliseconds(30));
}

TEST_F(SessionWaitTest, WhatWasWaitedInWaitReadyCounts) {
  SessionCore session = Open();
  ASSERT_FALSE(*session.WaitReady(milliseconds(40)));

  (void)session.Next(kNow);

  EXPECT_THAT(daemon_.link->asked_for, SizeIs(1));
}

TEST_F(SessionWaitTest, ADaemonThatDoesNotAnswerIsSaidToBeSilent) {
  daemon_.link->progress = absl::DeadlineExceededError("nothing came within 1000 ms");
  SessionCore session = Open();

  EXPECT_THAT(session.Next(milliseconds(20)).status().message(),
              HasSubstr("the daemon does not answer: nothing came within 1000 ms"));
}

// ---- Statistics. ----

TEST_F(SessionWaitTest, BatchesThatAreReadyCostNoWait) {
  SessionCore session = Open();
  daemon_.AnnounceNext();
  daemon_.AnnounceNext();
  (void)session.Next(kNow);
  (void)session.Next(kNow);

  const SessionStats stats = session.Stats();

  EXPECT_EQ(stats.batches, 2u);
  EXPECT_EQ(stats.batches_ready, 2u);
  EXPECT_EQ(stats.waited_seconds, 0);
  EXPECT_TRUE(stats.daemon_answered);
  EXPECT_THAT(stats.verdict, HasSubstr("the trainer sets the pace"));
}

TEST_F(SessionWaitTest, WaitsAreCountedWhereverTheyAreAndTheRestIsTheConsumers) {
  SessionCore session = Open();
  (void)session.WaitReady(milliseconds(30));
  (void)session.Next(milliseconds(30));
  daemon_.AnnounceNext();
  ASSERT_TRUE(session.Next(kNow).ok());
  std::this_thread::sleep_for(milliseconds(40));
  daemon_.AnnounceNext();
  ASSERT_TRUE(session.Next(kNow).ok());

  const SessionStats stats = session.Stats();

  EXPECT_EQ(stats.batches, 2u);
  EXPECT_EQ(stats.batches_ready, 1u);
  EXPECT_GE(stats.waited_seconds, 0.06);
  EXPECT_EQ(std::chrono::duration<double>(session.Waited()).count(), stats.waited_seconds);
  EXPECT_GE(stats.busy_seconds, 0.04);
}

TEST_F(SessionWaitTest, AClosedSessionKeepsItsCounts) {
  SessionCore session = Open();
  daemon_.AnnounceNext();
  (void)session.Next(kNow);
  (void)session.Close();

  const SessionStats stats = session.Stats();

  EXPECT_EQ(stats.batches, 1u);
  EXPECT_FALSE(stats.daemon_answered);
}

}  // namespace
}  // namespace penstock::client
