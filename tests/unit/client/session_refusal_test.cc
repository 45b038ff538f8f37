// Impossible values that the daemon writes on the page are refused.
#include <chrono>

#include "tests/unit/client/session_fixture.h"

namespace penstock::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using SessionRefusalTest = SessionCoreTest;

TEST_F(SessionRefusalTest, ASlotBeyondItsSegmentIsRefused) {
  const Status status = NextAfter([](shm::ControlEntry& entry) { entry.offset = 344; });

  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("in a segment of 448 bytes, the offset 344"));
}

TEST_F(SessionRefusalTest, AnOffsetThatOverflowsIsRefused) {
  const Status status = NextAfter([](shm::ControlEntry& entry) { entry.offset = ~uint64_t{7}; });

  EXPECT_EQ(status.code(), Code::kInternal);
}

TEST_F(SessionRefusalTest, ASlotAtAnOddPlaceIsRefused) {
  EXPECT_EQ(NextAfter([](shm::ControlEntry& entry) { entry.offset = 4; }).code(), Code::kInternal);
}

TEST_F(SessionRefusalTest, MoreRowsThanASlotHasAreRefused) {
  const Status status = NextAfter([](shm::ControlEntry& entry) { entry.rows = 5; });

  EXPECT_THAT(status.message(), HasSubstr("announced batch 1 with rows 5"));
}

TEST_F(SessionRefusalTest, ABatchWithoutRowsIsRefused) {
  EXPECT_EQ(NextAfter([](shm::ControlEntry& entry) { entry.rows = entry.valid_rows = 0; }).code(),
            Code::kInternal);
}

TEST_F(SessionRefusalTest, MoreValidRowsThanRowsAreRefused) {
  EXPECT_EQ(NextAfter([](shm::ControlEntry& entry) { entry.rows = 3; }).code(), Code::kInternal);
}

TEST_F(SessionRefusalTest, ABatchOutOfTurnIsRefused) {
  EXPECT_EQ(NextAfter([](shm::ControlEntry& entry) { entry.sequence = 2; }).code(),
            Code::kInternal);
}

TEST_F(SessionRefusalTest, MoreConsumedSamplesThanThereAreAreRefused) {
  EXPECT_EQ(NextAfter([](shm::ControlEntry& entry) { entry.consumed = 101; }).code(),
            Code::kInternal);
}

TEST_F(SessionRefusalTest, AnEpochMayBeLongerOrShorterThanTheDataset) {
  Grant longer = SmallGrant(), shorter = SmallGrant();
  longer.epoch_samples = 300;
  shorter.epoch_samples = 40;
  for (const auto& [grant, taken] : {std::pair(longer, true), std::pair(shorter, false)}) {
    FakeDaemon daemon(grant);
    shm::ControlEntry entry = daemon.Entry(1);
    entry.consumed = 140;
    daemon.Announce(entry);
    SessionCore session(std::make_unique<FakeOpener>(&reopening_), daemon.Attach().value(), {});

    EXPECT_EQ(session.Next(kNow).ok(), taken);
  }
}

TEST_F(SessionRefusalTest, ASegmentThatWasNeverSentIsRefused) {
  const Status status = NextAfter([](shm::ControlEntry& entry) { entry.segment = 8; });

  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("segment 8, but never sent it"));
}

TEST_F(SessionRefusalTest, ACounterThatJumpsIsRefused) {
  daemon_.page().announced.store(shm::kControlCapacity + 1);
  SessionCore session = Open();

  EXPECT_EQ(session.Next(kNow).status().code(), Code::kInternal);
}

TEST_F(SessionRefusalTest, ACounterThatGoesBackIsRefused) {
  daemon_.AnnounceNext();
  SessionCore session = Open();
  ASSERT_TRUE(session.Next(kNow).ok());
  daemon_.page().announced.store(0);

  EXPECT_EQ(session.Next(kNow).status().code(), Code::kInternal);
}

TEST_F(SessionRefusalTest, AnEpochThatComesBackIsRefused) {
  shm::ControlEntry entry = daemon_.Entry(1);
  entry.epoch = 3;
  daemon_.Announce(entry);
  daemon_.AnnounceNext();
  SessionCore session = Open();
  ASSERT_TRUE(session.Next(kNow).ok());

  EXPECT_EQ(session.Next(kNow).status().code(), Code::kInternal);
}

TEST_F(SessionRefusalTest, AStateThatIsUnknownIsRefused) {
  daemon_.End(static_cast<shm::SessionState>(9));
  SessionCore session = Open();

  EXPECT_THAT(session.Next(kNow).status().message(), HasSubstr("state to 9"));
}

TEST_F(SessionRefusalTest, AfterWhatCannotBeTheSessionIsClosedAndSaysTheSameAgain) {
  shm::ControlEntry entry = daemon_.Entry(1);
  entry.rows = 5;
  daemon_.Announce(entry);
  SessionCore session = Open();
  const Status first = session.Next(kNow).status();

  EXPECT_EQ(session.Next(kNow).status().message(), first.message());
  EXPECT_THAT(daemon_.link->closed, ElementsAre(42));
}

TEST_F(SessionRefusalTest, APageOfAnotherVersionIsRefusedInWords) {
  daemon_.page().version = shm::kControlVersion + 1;

  const absl::Status status = daemon_.Attach().status();

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("got 3, expected 2"));
}

TEST_F(SessionRefusalTest, APageOfAnotherSessionIsRefused) {
  daemon_.page().session_id = 43;

  EXPECT_FALSE(daemon_.Attach().ok());
}

TEST_F(SessionRefusalTest, ASlotThatCannotHoldItsRowsIsRefused) {
  Grant grant = SmallGrant();
  grant.labels_offset = 40;
  FakeDaemon daemon(grant);

  EXPECT_FALSE(daemon.Attach().ok());
}

TEST_F(SessionRefusalTest, ASlotWhoseRowsOverflowIsRefused) {
  Grant grant = SmallGrant();
  grant.height = grant.width = 0xFFFFFFFF;

  EXPECT_FALSE(CheckGrant(grant).ok());
}

}  // namespace
}  // namespace penstock::client
