#include "client/src/session_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

#include "tests/unit/client/fake_daemon.h"

namespace penstock::client {
namespace {

using std::chrono::milliseconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr milliseconds kNow{0};
constexpr milliseconds kSoon{20};

class SessionCoreTest : public ::testing::Test {
 protected:
  SessionCore Open(const SessionCore::Begin& begin = {}) {
    return SessionCore(std::make_unique<FakeOpener>(&reopening_), daemon_.Attach().value(), begin);
  }

  bool Rung() {
    pollfd entry{.fd = daemon_.event().get(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, 0) == 1;
  }

  // The same announcement, changed so that it cannot be.
  template <typename Change>
  Status NextAfter(Change change) {
    shm::ControlEntry entry = daemon_.Entry(1);
    change(entry);
    daemon_.Announce(entry);
    SessionCore session = Open();
    return session.Next(kNow).status();
  }

  FakeDaemon daemon_, second_;
  Reopening reopening_{.asked = {}, .epochs = {}, .refusals = {}, .daemon = &second_};
};

// --- What cannot be
// -----------------------------------------------------------------------------------

TEST_F(SessionCoreTest, ASlotBeyondItsSegmentIsRefused) {
  const Status status = NextAfter([](shm::ControlEntry& entry) { entry.offset = 344; });

  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("in a segment of 448 bytes, the offset 344"));
}

TEST_F(SessionCoreTest, AnOffsetThatOverflowsIsRefused) {
  const Status status = NextAfter([](shm::ControlEntry& entry) { entry.offset = ~uint64_t{7}; });

  EXPECT_EQ(status.code(), Code::kInternal);
}

TEST_F(SessionCoreTest, ASlotAtAnOddPlaceIsRefused) {
  EXPECT_EQ(NextAfter([](shm::ControlEntry& entry) { entry.offset = 4; }).code(), Code::kInternal);
}

TEST_F(SessionCoreTest, MoreRowsThanASlotHasAreRefused) {
  const Status status = NextAfter([](shm::ControlEntry& entry) { entry.rows = 5; });

  EXPECT_THAT(status.message(), HasSubstr("announced batch 1 with rows 5"));
}

TEST_F(SessionCoreTest, ABatchWithoutRowsIsRefused) {
  EXPECT_EQ(NextAfter([](shm::ControlEntry& entry) { entry.rows = entry.valid_rows = 0; }).code(),
            Code::kInternal);
}

TEST_F(SessionCoreTest, MoreValidRowsThanRowsAreRefused) {
  EXPECT_EQ(NextAfter([](shm::ControlEntry& entry) { entry.rows = 3; }).code(), Code::kInternal);
}

TEST_F(SessionCoreTest, ABatchOutOfTurnIsRefused) {
  EXPECT_EQ(NextAfter([](shm::ControlEntry& entry) { entry.sequence = 2; }).code(),
            Code::kInternal);
}

TEST_F(SessionCoreTest, MoreConsumedSamplesThanThereAreAreRefused) {
  EXPECT_EQ(NextAfter([](shm::ControlEntry& entry) { entry.consumed = 101; }).code(),
            Code::kInternal);
}

TEST_F(SessionCoreTest, ASegmentThatWasNeverSentIsRefused) {
  const Status status = NextAfter([](shm::ControlEntry& entry) { entry.segment = 8; });

  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("segment 8, which it has not sent"));
}

TEST_F(SessionCoreTest, ACounterThatJumpsIsRefused) {
  daemon_.page().announced.store(shm::kControlCapacity + 1);
  SessionCore session = Open();

  EXPECT_EQ(session.Next(kNow).status().code(), Code::kInternal);
}

TEST_F(SessionCoreTest, ACounterThatGoesBackIsRefused) {
  daemon_.AnnounceNext();
  SessionCore session = Open();
  ASSERT_TRUE(session.Next(kNow).ok());
  daemon_.page().announced.store(0);

  EXPECT_EQ(session.Next(kNow).status().code(), Code::kInternal);
}

TEST_F(SessionCoreTest, AnEpochThatComesBackIsRefused) {
  shm::ControlEntry entry = daemon_.Entry(1);
  entry.epoch = 3;
  daemon_.Announce(entry);
  daemon_.AnnounceNext();
  SessionCore session = Open();
  ASSERT_TRUE(session.Next(kNow).ok());

  EXPECT_EQ(session.Next(kNow).status().code(), Code::kInternal);
}

TEST_F(SessionCoreTest, AStateThatIsUnknownIsRefused) {
  daemon_.End(static_cast<shm::SessionState>(9));
  SessionCore session = Open();

  EXPECT_THAT(session.Next(kNow).status().message(), HasSubstr("in state 9"));
}

TEST_F(SessionCoreTest, AfterWhatCannotBeTheSessionIsClosedAndSaysTheSameAgain) {
  shm::ControlEntry entry = daemon_.Entry(1);
  entry.rows = 5;
  daemon_.Announce(entry);
  SessionCore session = Open();
  const Status first = session.Next(kNow).status();

  EXPECT_EQ(session.Next(kNow).status().message(), first.message());
  EXPECT_THAT(daemon_.link->closed, ElementsAre(42));
}

TEST_F(SessionCoreTest, APageOfAnotherVersionIsRefusedInWords) {
  daemon_.page().version = 2;

  const absl::Status status = daemon_.Attach().status();

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has version 2, this client knows 1"));
}

TEST_F(SessionCoreTest, APageOfAnotherSessionIsRefused) {
  daemon_.page().session_id = 43;

  EXPECT_FALSE(daemon_.Attach().ok());
}

TEST_F(SessionCoreTest, ASlotThatCannotHoldItsRowsIsRefused) {
  Grant grant = SmallGrant();
  grant.labels_offset = 40;
  FakeDaemon daemon(grant);

  EXPECT_FALSE(daemon.Attach().ok());
}

TEST_F(SessionCoreTest, ASlotWhoseRowsOverflowIsRefused) {
  Grant grant = SmallGrant();
  grant.height = grant.width = 0xFFFFFFFF;

  EXPECT_FALSE(CheckGrant(grant).ok());
}

// --- Taking and releasing
// -----------------------------------------------------------------------------

TEST_F(SessionCoreTest, ABatchCarriesWhatItsSlotHolds) {
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

TEST_F(SessionCoreTest, TakenAndReleasedAreWrittenToThePage) {
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

TEST_F(SessionCoreTest, ABatchIsReleasedWhenItGoesOutOfScopeAndOnlyByItsLastHolder) {
  daemon_.AnnounceNext();
  SessionCore session = Open();
  {
    Batch batch = session.Next(kNow).OrDie();
    const Batch moved = std::move(batch);
    batch.Release();
    EXPECT_EQ(daemon_.page().released[0], 0u);
  }

  EXPECT_EQ(daemon_.page().released[0], 1u);
}

TEST_F(SessionCoreTest, AssigningToABatchReleasesWhatItHeld) {
  daemon_.AnnounceNext();
  daemon_.AnnounceNext();
  SessionCore session = Open();
  Batch batch = session.Next(kNow).OrDie();

  batch = session.Next(kNow).OrDie();

  EXPECT_EQ(daemon_.page().released[0], 1u);
  EXPECT_EQ(daemon_.page().released[1], 0u);
}

TEST_F(SessionCoreTest, AReleaseRingsOnlyADaemonThatSleeps) {
  daemon_.AnnounceNext();
  daemon_.AnnounceNext();
  SessionCore session = Open();

  session.Next(kNow)->Release();
  EXPECT_FALSE(Rung());
  daemon_.page().daemon_asleep.store(1);
  session.Next(kNow)->Release();

  EXPECT_TRUE(Rung());
}

TEST_F(SessionCoreTest, EntriesAreUsedAgainBeyondThePagesCapacity) {
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

TEST_F(SessionCoreTest, ASegmentThatIsOnItsWayIsFetchedFromTheDoorway) {
  daemon_.link->on_their_way[9] = daemon_.ReadOnly();
  shm::ControlEntry entry = daemon_.Entry(1);
  entry.segment = 9;
  daemon_.Announce(entry);
  SessionCore session = Open();

  EXPECT_TRUE(session.Next(kNow).ok());
}

TEST_F(SessionCoreTest, AReadyBatchIsTakenWithoutALookAtTheDoorway) {
  daemon_.AnnounceNext();
  SessionCore session = Open();

  EXPECT_TRUE(session.Next(kNow).ok());
  EXPECT_EQ(daemon_.link->pumps, 0);
}

TEST_F(SessionCoreTest, AFinishWritesFloats) {
  daemon_.AnnounceNext();
  SessionCore session = Open();
  const Result<Batch> batch = session.Next(kNow);
  const Finish finish = {.mean = {0.5f, 0.5f, 0.5f}, .stddev = {0.5f, 0.5f, 0.5f}};
  std::vector<float> floats(batch->FinishedBytes(finish) / 4);

  ASSERT_TRUE(batch->FinishInto(finish, floats.data(), floats.size() * 4).ok());

  EXPECT_EQ(floats.size(), 48u);
  EXPECT_THAT(floats, Each((1.0f / 255.0f - 0.5f) / 0.5f));
}

TEST_F(SessionCoreTest, AFinishOfAReleasedBatchIsRefused) {
  daemon_.AnnounceNext();
  SessionCore session = Open();
  Result<Batch> batch = session.Next(kNow);
  batch->Release();
  float floats[48];

  EXPECT_EQ(batch->FinishInto({}, floats, sizeof(floats)).code(), Code::kFailedPrecondition);
}

// --- Waiting
// ------------------------------------------------------------------------------------------

TEST_F(SessionCoreTest, NothingInTimeIsADeadlineExceededAndTheNextCallGoesOn) {
  SessionCore session = Open();

  EXPECT_EQ(session.Next(kSoon).status().code(), Code::kDeadlineExceeded);
  daemon_.AnnounceNext();
  EXPECT_TRUE(session.Next(kNow).ok());
}

TEST_F(SessionCoreTest, AnAnnouncementWakesAWaitingSession) {
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

TEST_F(SessionCoreTest, EveryOneOfManyAnnouncementsIsSeen) {
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

// --- Ends
// ---------------------------------------------------------------------------------------------

TEST_F(SessionCoreTest, AnEpochsEndIsSaidOnceAfterItsLastBatch) {
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

TEST_F(SessionCoreTest, TheEndOfDataComesAfterTheLastBatchAndStays) {
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

TEST_F(SessionCoreTest, AFailureIsSaidInTheDaemonsWordsAfterTheBatchesThatAreReady) {
  daemon_.AnnounceNext();
  daemon_.End(shm::SessionState::kFailed, absl::StatusCode::kDataLoss, "12 of 100 samples failed");
  SessionCore session = Open();

  EXPECT_TRUE(session.Next(kNow).ok());
  const Status status = session.Next(kNow).status();
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(status.message(), "12 of 100 samples failed");
  EXPECT_EQ(session.Next(kNow).status().message(), status.message());
}

TEST_F(SessionCoreTest, AFailureWithoutATerminatorEndsWithThePage) {
  daemon_.End(shm::SessionState::kFailed, absl::StatusCode::kDataLoss, std::string(2000, 'x'));
  SessionCore session = Open();

  EXPECT_EQ(session.Next(kNow).status().message(), std::string(1023, 'x'));
}

TEST_F(SessionCoreTest, AClosedSessionSaysSo) {
  SessionCore session = Open();

  EXPECT_TRUE(session.Close().ok());

  EXPECT_EQ(session.Next(kNow).status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(daemon_.link->closed, ElementsAre(42));
}

TEST_F(SessionCoreTest, ASessionEndsForTheDaemonWhenTheLastBatchIsBack) {
  daemon_.AnnounceNext();
  SessionCore session = Open();
  Result<Batch> batch = session.Next(kNow);

  EXPECT_TRUE(session.Close().ok());
  EXPECT_THAT(daemon_.link->closed, IsEmpty());
  EXPECT_THAT(batch->images(), Each(1));
  batch->Release();

  EXPECT_THAT(daemon_.link->closed, ElementsAre(42));
}

// --- Where it stands
// ----------------------------------------------------------------------------------

TEST_F(SessionCoreTest, AFreshSessionStandsAtTheBeginningWithItsSeedAndFingerprint) {
  SessionCore session = Open({.start = {}, .epochs = 0, .seed = 5});

  EXPECT_EQ(session.state(), (State{.seed = 5, .fingerprint = 0xFEED}));
}

TEST_F(SessionCoreTest, TheStateFollowsTheLastBatchThatWasTaken) {
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

TEST_F(SessionCoreTest, AnEpochWithoutABatchForThisRankIsPassedOver) {
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

// --- The daemon dies
// ----------------------------------------------------------------------------------

TEST_F(SessionCoreTest, ADeadDaemonIsNoticedWithinTwoSecondsOfWaiting) {
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

TEST_F(SessionCoreTest, BatchesOfADeadDaemonStayReadableAndThoseReadyAreStillTaken) {
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

TEST_F(SessionCoreTest, AReopenedSessionAsksForItsStateAndTheEpochsThatAreLeft) {
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

TEST_F(SessionCoreTest, ReopeningIsTriedUntilTheDaemonIsBack) {
  daemon_.link->dead = true;
  reopening_.refusals = {absl::UnavailableError("nobody listens"),
                         absl::NotFoundError("no socket")};
  second_.AnnounceNext();
  SessionCore session = Open();
  ASSERT_EQ(session.Next(kNow).status().code(), Code::kUnavailable);

  EXPECT_TRUE(session.Next(std::chrono::seconds(30)).ok());
  EXPECT_EQ(reopening_.asked.size(), 3u);
}

TEST_F(SessionCoreTest, WithoutADaemonReopeningEndsWithItsTimeout) {
  daemon_.link->dead = true;
  reopening_.refusals.assign(100, absl::UnavailableError("nobody listens"));
  SessionCore session = Open();
  ASSERT_EQ(session.Next(kNow).status().code(), Code::kUnavailable);

  const Status status = session.Next(milliseconds(120)).status();

  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("nobody listens"));
}

TEST_F(SessionCoreTest, ARefusalThatDoesNotPassIsSaidAtOnce) {
  daemon_.link->dead = true;
  reopening_.refusals = {absl::FailedPreconditionError("the feed's fingerprint is another one")};
  SessionCore session = Open();
  ASSERT_EQ(session.Next(kNow).status().code(), Code::kUnavailable);

  const Status status = session.Next(std::chrono::minutes(1)).status();

  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("fingerprint"));
}

TEST_F(SessionCoreTest, ADatasetThatChangedMeanwhileIsRefusedInWords) {
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

TEST_F(SessionCoreTest, ADaemonThatStopsIsGoneOnceItsReadyBatchesAreTaken) {
  daemon_.AnnounceNext();
  daemon_.End(shm::SessionState::kClosing);
  SessionCore session = Open();

  EXPECT_TRUE(session.Next(kNow).ok());
  EXPECT_EQ(session.Next(kNow).status().code(), Code::kUnavailable);
}

TEST_F(SessionCoreTest, AfterTheLastEpochNoDaemonIsNeededToSaySo) {
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

}  // namespace
}  // namespace penstock::client
