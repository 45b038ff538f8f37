// Taking, waiting, releasing, and a session's state and end.
#include <sys/mman.h>

#include <chrono>
#include <thread>

#include "tests/unit/client/session_fixture.h"

namespace penstock::client {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using SessionNextTest = SessionCoreTest;

// ---- Taking and releasing. ----

TEST_F(SessionNextTest, ABatchCarriesWhatItsSlotHolds) {
  shm::ControlEntry entry = daemon_.Entry(1);
  entry.rows = 3;
  entry.valid_rows = 2;
  daemon_.Announce(entry);
  SessionCore session = Open();

  const Result<Batch> batch = session.Next(kNow);

  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(batch->images().size(), 36u);
  EXPECT_THAT(batch->images(), Each(1));
  EXPECT_THAT(batch->labels(), ElementsAre(10, 11, 12));
  EXPECT_THAT(batch->sample_ids(), ElementsAre(100, 101, 102));
  EXPECT_EQ(batch->valid_rows(), 2u);
  EXPECT_EQ(batch->shape().rows, 3u);
  EXPECT_EQ(batch->shape().width, 2u);
}

TEST_F(SessionNextTest, TakenAndReleasedAreWrittenToThePage) {
  daemon_.AnnounceNext();
  daemon_.AnnounceNext();
  SessionCore session = Open();
  Result<Batch> first = session.Next(kNow);
  Result<Batch> second = session.Next(kNow);
  EXPECT_EQ(daemon_.page().taken, 2u);
  EXPECT_EQ(daemon_.page().released[1], 0u);

  second->Release();

  EXPECT_EQ(daemon_.page().released[0], 0u);
  EXPECT_EQ(daemon_.page().released[1], 2u);
  EXPECT_THAT(second->images(), IsEmpty());
}

TEST_F(SessionNextTest, ABatchIsReleasedWhenItGoesOutOfScopeAndOnlyByItsLastHolder) {
  daemon_.AnnounceNext();
  SessionCore session = Open();
  {
    Batch batch = session.Next(kNow).OrDie();
    const Batch moved = std::move(batch);
    batch.Release();  // NOLINT(bugprone-use-after-move): it holds nothing
    EXPECT_EQ(daemon_.page().released[0], 0u);
  }

  EXPECT_EQ(daemon_.page().released[0], 1u);
}

TEST_F(SessionNextTest, AssigningToABatchReleasesWhatItHeld) {
  daemon_.AnnounceNext();
  daemon_.AnnounceNext();
  SessionCore session = Open();
  Batch batch = session.Next(kNow).OrDie();

  batch = session.Next(kNow).OrDie();

  EXPECT_EQ(daemon_.page().released[0], 1u);
  EXPECT_EQ(daemon_.page().released[1], 0u);
}

TEST_F(SessionNextTest, AReleaseRingsOnlyADaemonThatSleeps) {
  daemon_.AnnounceNext();
  daemon_.AnnounceNext();
  SessionCore session = Open();

  session.Next(kNow)->Release();
  EXPECT_FALSE(WasNotified());
  daemon_.page().daemon_asleep.store(1);
  session.Next(kNow)->Release();

  EXPECT_TRUE(WasNotified());
}

TEST_F(SessionNextTest, EntriesAreUsedAgainBeyondThePagesCapacity) {
  SessionCore session = Open();
  for (uint64_t n = 1; n <= 2 * shm::kControlCapacity + 3; ++n) {
    shm::ControlEntry entry = daemon_.Entry(n);
    entry.consumed = 4;
    daemon_.Announce(entry);
    const Result<Batch> batch = session.Next(kNow);
    ASSERT_TRUE(batch.ok()) << batch.status().ToString();
    ASSERT_EQ(batch->images()[0], static_cast<uint8_t>(n));
  }

  EXPECT_EQ(daemon_.page().released[2], 2 * shm::kControlCapacity + 3);
}

TEST_F(SessionNextTest, ASegmentThatIsOnItsWayIsFetchedFromTheDoorway) {
  daemon_.link->on_their_way[9] = daemon_.ReadOnly();
  shm::ControlEntry entry = daemon_.Entry(1);
  entry.segment = 9;
  daemon_.Announce(entry);
  SessionCore session = Open();

  EXPECT_TRUE(session.Next(kNow).ok());
}

TEST_F(SessionNextTest, ASegmentThatTheDaemonGaveUpIsUnmappedAtTheNextWait) {
  daemon_.AnnounceNext();
  SessionCore session = Open();
  ASSERT_TRUE(session.Next(kNow).ok());
  const std::weak_ptr<const posix::Mapping> mapped = daemon_.link->segments.at(kSegmentId);
  daemon_.link->segments.clear();
  ASSERT_FALSE(mapped.expired());

  EXPECT_EQ(session.Next(kNow).status().code(), Code::kDeadlineExceeded);

  EXPECT_TRUE(mapped.expired());
}

TEST_F(SessionNextTest, AReadyBatchIsTakenWithoutALookAtTheDoorway) {
  daemon_.AnnounceNext();
  SessionCore session = Open();

  EXPECT_TRUE(session.Next(kNow).ok());
  EXPECT_EQ(daemon_.link->pumps, 0);
}

TEST_F(SessionNextTest, AFinishIntoMemoryThatTheHostCannotUseIsRefused) {
  daemon_.AnnounceNext();
  SessionCore session = Open();
  Result<Batch> batch = session.Next(kNow);
  void* const reserved = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(reserved, MAP_FAILED);  // inaccessible to the host, like device memory

  const Status images = batch->FinishInto({}, reserved, 4096);
  const Status both = batch->FinishInto({}, {reserved, 4096, nullptr}, nullptr);

  EXPECT_EQ(images.code(), Code::kInvalidArgument);
  EXPECT_THAT(images.message(), ::testing::HasSubstr("not memory that the host can use"));
  EXPECT_EQ(both.code(), Code::kInvalidArgument);
  EXPECT_EQ(daemon_.page().released[0], 0u);
  ::munmap(reserved, 4096);
}

TEST_F(SessionNextTest, TheFinishOfGpuProgramsWorksInHostMemoryToo) {
  daemon_.AnnounceNext();
  SessionCore session = Open();
  float images[48] = {};
  int64_t labels[4] = {};

  const Result<Batch> batch = session.NextInto({}, {images, sizeof(images), labels}, nullptr, kNow);

  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_FLOAT_EQ(images[47], 1.0f / 255);
  EXPECT_THAT(labels, ElementsAre(10, 11, 12, 13));
  EXPECT_EQ(daemon_.page().released[0], 1u);
}

TEST_F(SessionNextTest, AFinishWritesFloats) {
  daemon_.AnnounceNext();
  SessionCore session = Open();
  const Result<Batch> batch = session.Next(kNow);
  const Finish finish = {.mean = {0.5f, 0.5f, 0.5f}, .stddev = {0.5f, 0.5f, 0.5f}};
  std::vector<float> floats(batch->FinishedBytes(finish) / 4);

  ASSERT_TRUE(batch->FinishInto(finish, floats.data(), floats.size() * 4).ok());

  EXPECT_EQ(floats.size(), 48u);
  EXPECT_THAT(floats, Each((1.0f / 255.0f - 0.5f) / 0.5f));
}

TEST_F(SessionNextTest, AFinishOfAReleasedBatchIsRefused) {
  daemon_.AnnounceNext();
  SessionCore session = Open();
  Result<Batch> batch = session.Next(kNow);
  batch->Release();
  float floats[48];

  EXPECT_EQ(batch->FinishInto({}, floats, sizeof(floats)).code(), Code::kFailedPrecondition);
}

// ---- Waiting. ----

TEST_F(SessionNextTest, NothingInTimeIsADeadlineExceededAndTheNextCallGoesOn) {
  SessionCore session = Open();

  EXPECT_EQ(session.Next(std::chrono::milliseconds(20)).status().code(), Code::kDeadlineExceeded);
  daemon_.AnnounceNext();
  EXPECT_TRUE(session.Next(kNow).ok());
}

TEST_F(SessionNextTest, AnAnnouncementWakesAWaitingSession) {
  SessionCore session = Open();
  std::thread announcer([&] {
    while (daemon_.page().consumer_asleep.load() == 0) std::this_thread::yield();
    daemon_.AnnounceNext();
  });
  const auto begin = std::chrono::steady_clock::now();

  const Result<Batch> batch = session.Next(std::chrono::seconds(30));

  announcer.join();
  EXPECT_TRUE(batch.ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(SessionNextTest, WaitingForReadinessTakesNothing) {
  SessionCore session = Open();

  const Result<bool> before = session.WaitReady(kNow);
  daemon_.AnnounceNext();
  const Result<bool> after = session.WaitReady(kNow);

  EXPECT_FALSE(*before);
  EXPECT_TRUE(*after);
  EXPECT_EQ(daemon_.page().taken, 0u);
  EXPECT_TRUE(session.Next(kNow).ok());
}

TEST_F(SessionNextTest, WhateverNextWillSayIsReady) {
  daemon_.End(shm::SessionState::kFinished);
  SessionCore session = Open();
  EXPECT_TRUE(*session.WaitReady(kNow));
  EXPECT_EQ(session.Next(kNow).status().code(), Code::kEndOfData);

  EXPECT_TRUE(*session.WaitReady(kNow));
  ASSERT_TRUE(session.Close().ok());

  EXPECT_TRUE(*session.WaitReady(kNow));
  EXPECT_EQ(session.Next(kNow).status().code(), Code::kFailedPrecondition);
}

TEST_F(SessionNextTest, EveryOneOfManyAnnouncementsIsSeen) {
  constexpr uint64_t kBatches = 20000;
  SessionCore session = Open();
  std::thread announcer([&] {
    for (uint64_t n = 1; n <= kBatches; ++n) {
      while (n > daemon_.page().taken.load() + kSlots) std::this_thread::yield();
      shm::ControlEntry entry = daemon_.Entry(n);
      entry.consumed = 0;
      daemon_.Announce(entry);
    }
    daemon_.End(shm::SessionState::kFinished);
  });

  uint64_t got = 0;
  Status status;
  while (status.ok()) {
    const Result<Batch> batch = session.Next(std::chrono::seconds(30));
    status = batch.status();
    got += batch.ok() ? 1 : 0;
  }

  announcer.join();
  EXPECT_EQ(status.code(), Code::kEndOfData);
  EXPECT_EQ(got, kBatches);
}

// ---- Ending. ----

TEST_F(SessionNextTest, AnEpochsEndIsSaidOnceAfterItsLastBatch) {
  shm::ControlEntry last = daemon_.Entry(1);
  last.last_of_epoch = 1;
  daemon_.Announce(last);
  shm::ControlEntry next = daemon_.Entry(2);
  next.epoch = 1;
  daemon_.Announce(next);
  SessionCore session = Open();

  EXPECT_TRUE(session.Next(kNow)->last_of_epoch());
  EXPECT_EQ(session.Next(kNow).status().code(), Code::kEndOfEpoch);
  EXPECT_EQ(session.Next(kNow)->epoch(), 1u);
}

TEST_F(SessionNextTest, TheEndOfDataComesAfterTheLastBatchAndStays) {
  shm::ControlEntry last = daemon_.Entry(1);
  last.last_of_epoch = 1;
  daemon_.Announce(last);
  daemon_.End(shm::SessionState::kFinished);
  SessionCore session = Open();

  EXPECT_TRUE(session.Next(kNow).ok());
  EXPECT_EQ(session.Next(kNow).status().code(), Code::kEndOfEpoch);
  EXPECT_EQ(session.Next(kNow).status().code(), Code::kEndOfData);
  EXPECT_EQ(session.Next(kNow).status().code(), Code::kEndOfData);
}

TEST_F(SessionNextTest, AFailureIsSaidInTheDaemonsWordsAfterTheBatchesThatAreReady) {
  daemon_.AnnounceNext();
  daemon_.End(shm::SessionState::kFailed, absl::StatusCode::kDataLoss, "12 of 100 samples failed");
  SessionCore session = Open();

  EXPECT_TRUE(session.Next(kNow).ok());
  const Status status = session.Next(kNow).status();
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(status.message(), "12 of 100 samples failed");
  EXPECT_EQ(session.Next(kNow).status().message(), status.message());
}

TEST_F(SessionNextTest, AFailureWithoutATerminatorEndsWithThePage) {
  daemon_.End(shm::SessionState::kFailed, absl::StatusCode::kDataLoss, std::string(2000, 'x'));
  SessionCore session = Open();

  EXPECT_EQ(session.Next(kNow).status().message(), std::string(1023, 'x'));
}

TEST_F(SessionNextTest, AClosedSessionSaysSo) {
  SessionCore session = Open();

  EXPECT_TRUE(session.Close().ok());

  EXPECT_EQ(session.Next(kNow).status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(daemon_.link->closed, ElementsAre(42));
}

TEST_F(SessionNextTest, ASessionEndsForTheDaemonWhenTheLastBatchIsBack) {
  daemon_.AnnounceNext();
  SessionCore session = Open();
  Result<Batch> batch = session.Next(kNow);

  EXPECT_TRUE(session.Close().ok());
  EXPECT_THAT(daemon_.link->closed, IsEmpty());
  EXPECT_THAT(batch->images(), Each(1));
  batch->Release();

  EXPECT_THAT(daemon_.link->closed, ElementsAre(42));
}

// ---- State. ----

TEST_F(SessionNextTest, AFreshSessionStandsAtTheBeginningWithItsSeedAndFingerprint) {
  SessionCore session = Open({.start = {}, .epochs = 0, .seed = 5});

  EXPECT_EQ(session.state(), (State{.seed = 5, .fingerprint = 0xFEED}));
}

TEST_F(SessionNextTest, TheStateFollowsTheLastBatchThatWasTaken) {
  daemon_.AnnounceNext();
  shm::ControlEntry last = daemon_.Entry(2);
  last.last_of_epoch = 1;
  daemon_.Announce(last);
  SessionCore session = Open();

  ASSERT_TRUE(session.Next(kNow).ok());
  EXPECT_EQ(session.state().consumed, 4u);
  ASSERT_TRUE(session.Next(kNow).ok());

  EXPECT_EQ(session.state().epoch, 1u);
  EXPECT_EQ(session.state().consumed, 0u);
}

TEST_F(SessionNextTest, AnEpochWithoutABatchForThisRankIsPassedOver) {
  shm::ControlEntry last = daemon_.Entry(1);
  last.last_of_epoch = 1;
  daemon_.Announce(last);
  shm::ControlEntry later = daemon_.Entry(2);
  later.epoch = 5;
  daemon_.Announce(later);
  SessionCore session = Open();
  ASSERT_TRUE(session.Next(kNow).ok());
  ASSERT_EQ(session.Next(kNow).status().code(), Code::kEndOfEpoch);

  EXPECT_EQ(session.Next(kNow)->epoch(), 5u);
  EXPECT_EQ(session.state().epoch, 5u);
}

}  // namespace
}  // namespace penstock::client
