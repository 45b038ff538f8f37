// The daemon dies and comes back.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/unit/client/session_fixture.h"

namespace penstock::client {
namespace {

using std::chrono::milliseconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using SessionResumeTest = SessionCoreTest;

TEST_F(SessionResumeTest, ADeadDaemonIsNoticedWithinTwoSecondsOfWaiting) {
  SessionCore session = Open();
  std::thread killer([&] {
    while (daemon_.page().consumer_asleep.load() == 0) std::this_thread::yield();
    daemon_.link->dead = true;
  });
  const auto begin = std::chrono::steady_clock::now();

  const Status status = session.Next(std::chrono::minutes(1)).status();

  killer.join();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("call Next again"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST_F(SessionResumeTest, BatchesOfADeadDaemonStayReadableAndThoseReadyAreStillTaken) {
  daemon_.AnnounceNext();
  daemon_.AnnounceNext();
  SessionCore session = Open();
  const Result<Batch> held = session.Next(kNow);
  daemon_.link->dead = true;

  EXPECT_THAT(session.Next(kNow)->images(), Each(2));
  EXPECT_EQ(session.Next(kNow).status().code(), Code::kUnavailable);

  EXPECT_THAT(held->images(), Each(1));
  EXPECT_THAT(daemon_.link->closed, IsEmpty());
}

TEST_F(SessionResumeTest, AReopenedSessionAsksForItsStateAndTheEpochsThatAreLeft) {
  shm::ControlEntry last = daemon_.Entry(1);
  last.last_of_epoch = 1;
  daemon_.Announce(last);
  shm::ControlEntry inside = daemon_.Entry(2);
  inside.epoch = 1;
  inside.consumed = 12;
  daemon_.Announce(inside);
  daemon_.link->dead = true;
  shm::ControlEntry next = second_.Entry(1);
  next.epoch = 1;
  next.consumed = 16;
  second_.Announce(next);
  SessionCore session = Open({.start = {}, .epochs = 3, .seed = 9});
  ASSERT_TRUE(session.Next(kNow).ok());
  ASSERT_EQ(session.Next(kNow).status().code(), Code::kEndOfEpoch);
  ASSERT_EQ(session.Next(kNow)->step(), 1u);
  ASSERT_EQ(session.Next(kNow).status().code(), Code::kUnavailable);

  const Result<Batch> batch = session.Next(kNow);

  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_THAT(reopening_.asked,
              ElementsAre(State{.epoch = 1, .consumed = 12, .seed = 9, .fingerprint = 0xFEED}));
  EXPECT_THAT(reopening_.epochs, ElementsAre(2));
  EXPECT_EQ(batch->step(), 2u);
  EXPECT_EQ(session.batches_in_epoch(), 27u);
  EXPECT_EQ(session.state().consumed, 16u);
}

TEST_F(SessionResumeTest, WhereOtherRanksHaveABatchMoreTheStateStaysInTheEpochUntilItsEnd) {
  shm::ControlEntry last = daemon_.Entry(1);
  last.last_of_epoch = 1;
  last.consumed = 96;  // of 100; another rank takes the last four
  daemon_.Announce(last);
  SessionCore session = Open({.start = {}, .epochs = 0, .seed = 9, .ranks_differ = true});
  ASSERT_TRUE(session.Next(kNow).ok());

  EXPECT_EQ(session.state().epoch, 0u);
  EXPECT_EQ(session.state().consumed, 96u);
  const Status end = session.Next(kNow).status();
  EXPECT_EQ(end.code(), Code::kEndOfEpoch);
  EXPECT_THAT(end.message(), HasSubstr("epoch 0 has"));
  EXPECT_EQ(session.state().epoch, 1u);
  EXPECT_EQ(session.state().consumed, 0u);
}

TEST_F(SessionResumeTest, WhereNoRankHasABatchMoreTheStateIsTheNextEpochsStart) {
  shm::ControlEntry last = daemon_.Entry(1);
  last.last_of_epoch = 1;
  last.consumed = 100;
  daemon_.Announce(last);
  SessionCore session = Open({.start = {}, .epochs = 0, .seed = 9, .ranks_differ = true});
  ASSERT_TRUE(session.Next(kNow).ok());

  EXPECT_EQ(session.state().epoch, 1u);
  EXPECT_EQ(session.state().consumed, 0u);
}

TEST_F(SessionResumeTest, WhatIsDroppedIsNoBatchOfAnotherRank) {
  shm::ControlEntry last = daemon_.Entry(1);
  last.last_of_epoch = 1;
  last.consumed = 96;  // of 100
  daemon_.Announce(last);
  SessionCore session = Open({.start = {}, .epochs = 0, .seed = 9, .ranks_differ = false});
  ASSERT_TRUE(session.Next(kNow).ok());

  EXPECT_EQ(session.state().epoch, 1u);
  EXPECT_EQ(session.state().consumed, 0u);
}

TEST_F(SessionResumeTest, ReopeningIsTriedUntilTheDaemonIsBack) {
  daemon_.link->dead = true;
  reopening_.refusals = {absl::UnavailableError("nobody listens"),
                         absl::NotFoundError("no socket")};
  second_.AnnounceNext();
  SessionCore session = Open();
  ASSERT_EQ(session.Next(kNow).status().code(), Code::kUnavailable);

  EXPECT_TRUE(session.Next(std::chrono::seconds(30)).ok());
  EXPECT_EQ(reopening_.asked.size(), 3u);
}

TEST_F(SessionResumeTest, WithoutADaemonReopeningEndsWithItsTimeout) {
  daemon_.link->dead = true;
  reopening_.refusals.assign(100, absl::UnavailableError("nobody listens"));
  SessionCore session = Open();
  ASSERT_EQ(session.Next(kNow).status().code(), Code::kUnavailable);

  const Status status = session.Next(milliseconds(120)).status();

  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("nobody listens"));
}

TEST_F(SessionResumeTest, ARefusalThatDoesNotPassIsSaidAtOnce) {
  daemon_.link->dead = true;
  reopening_.refusals = {absl::FailedPreconditionError("the feed's fingerprint is another one")};
  SessionCore session = Open();
  ASSERT_EQ(session.Next(kNow).status().code(), Code::kUnavailable);

  const Status status = session.Next(std::chrono::minutes(1)).status();

  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("fingerprint"));
}

TEST_F(SessionResumeTest, ADatasetThatChangedMeanwhileIsRefusedInWords) {
  Grant other = SmallGrant();
  other.samples = 99;
  FakeDaemon changed(other);
  reopening_.daemon = &changed;
  daemon_.link->dead = true;
  SessionCore session = Open();
  ASSERT_EQ(session.Next(kNow).status().code(), Code::kUnavailable);

  const Status status = session.Next(kNow).status();

  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("the dataset changed"));
  EXPECT_THAT(changed.link->closed, ElementsAre(42));
}

TEST_F(SessionResumeTest, FilesThatChangedMeanwhileEndTheEpochInWords) {
  Grant before = SmallGrant(), after = SmallGrant();
  before.dataset = "/data/flowers";
  before.files = 1;
  after.files = 2;
  FakeDaemon first(before), changed(after);
  reopening_.daemon = &changed;
  first.link->dead = true;
  SessionCore session(std::make_unique<FakeOpener>(&reopening_), first.Attach().value(), {});
  ASSERT_EQ(session.Next(kNow).status().code(), Code::kUnavailable);

  const Status status = session.Next(kNow).status();

  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("files of the dataset '/data/flowers' changed"));
}

TEST_F(SessionResumeTest, ADaemonThatStopsIsGoneOnceItsReadyBatchesAreTaken) {
  daemon_.AnnounceNext();
  daemon_.End(shm::SessionState::kClosing);
  SessionCore session = Open();

  EXPECT_TRUE(session.Next(kNow).ok());
  EXPECT_EQ(session.Next(kNow).status().code(), Code::kUnavailable);
}

TEST_F(SessionResumeTest, AfterTheLastEpochNoDaemonIsNeededToSaySo) {
  shm::ControlEntry last = daemon_.Entry(1);
  last.last_of_epoch = 1;
  daemon_.Announce(last);
  daemon_.link->dead = true;
  SessionCore session = Open({.start = {}, .epochs = 1, .seed = 0});
  ASSERT_TRUE(session.Next(kNow).ok());
  ASSERT_EQ(session.Next(kNow).status().code(), Code::kEndOfEpoch);
  ASSERT_EQ(session.Next(kNow).status().code(), Code::kUnavailable);

  EXPECT_EQ(session.Next(kNow).status().code(), Code::kEndOfData);
  EXPECT_THAT(reopening_.asked, IsEmpty());
}

// ---- Other threads, and the daemon's view. ----

// A thread that shows progress calls Stats while the trainer's thread loses its daemon and
// reconnects.
TEST_F(SessionResumeTest, StatsMayBeAskedByAnotherThreadWhileTheSessionConnectsAgain) {
  SessionCore session = Open();
  std::atomic<bool> done = false;
  std::thread watcher([&] {
    while (!done) (void)session.Stats();
  });

  for (int i = 0; i < 2000; ++i) {
    daemon_.link->dead = second_.link->dead = true;
    (void)session.Next(kNow);
    second_.link->dead = false;
    (void)session.Next(kNow);
  }

  done = true;
  watcher.join();
  EXPECT_GT(reopening_.asked.size(), 1000u);
}

// The drain may be cancelled. The daemon would then keep the session for as long as this process
// lives.
TEST_F(SessionResumeTest, ASessionThatADrainEndedSaysOnItsPageThatItIsOverOnceItsBatchesAre) {
  daemon_.AnnounceNext();
  daemon_.End(shm::SessionState::kClosing);
  SessionCore session = Open();
  {
    const Result<Batch> held = session.Next(kNow);
    ASSERT_EQ(session.Next(kNow).status().code(), Code::kUnavailable);
    EXPECT_EQ(daemon_.page().left.load(), 0u);
  }
  EXPECT_NE(daemon_.page().left.load(), 0u);
}

// The page says so whether or not CloseSession arrives.
TEST_F(SessionResumeTest, ASessionThatIsClosedSaysSoOnItsPage) {
  SessionCore session = Open();
  ASSERT_EQ(daemon_.page().left.load(), 0u);

  EXPECT_TRUE(session.Close().ok());

  EXPECT_NE(daemon_.page().left.load(), 0u);
}

}  // namespace
}  // namespace penstock::client
