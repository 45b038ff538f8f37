// Sessions: opening, detaching, closing, and their windows.
#include "server/feed/core/session.h"

#include <functional>
#include <vector>

#include "tests/unit/feed/core/harness.h"

namespace penstock::feed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SessionTest : public ::testing::Test {
 protected:
  absl::Status TryOpen(uint64_t id, const SessionSpec& spec) {
    return harness_.core.OpenSession(SessionId(id), spec, harness_.now);
  }
  void Tick(int seconds) {
    harness_.now += std::chrono::seconds(seconds);
    harness_.core.Tick(harness_.now);
  }

  Harness harness_;
};

TEST_F(SessionTest, AWindowThatDoesNotFitIsRefusedWithTheNumbers) {
  harness_.AddSlots(6);
  harness_.Open(1, Harness::Spec(1000, 2, 4));

  const absl::Status status = TryOpen(2, Harness::Spec(1000, 2, 3));

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status),
              HasSubstr("a window of 3 batches does not fit: 4 of 6 slots are reserved"));
  EXPECT_TRUE(TryOpen(2, Harness::Spec(1000, 2, 2)).ok());
}

TEST_F(SessionTest, AnArenaWithoutSlotsTakesNobody) {
  EXPECT_THAT(Message(TryOpen(1, Harness::Spec())), HasSubstr("0 of 0 slots"));
}

TEST_F(SessionTest, NumbersThatCannotBeAreNotPossible) {
  const std::vector<std::function<void(SessionSpec&)>> changes = {
      [](SessionSpec& s) { s.window = 0; },
      [](SessionSpec& s) { s.window = kMaxWindow + 1; },
      [](SessionSpec& s) { s.share.batch_size = 0; },
      [](SessionSpec& s) { s.share.rank = s.share.world; },
      [](SessionSpec& s) { s.first_epoch = UINT64_MAX, s.epochs = 1; },
      [](SessionSpec& s) { s.share.world = 1000, s.share.rank = 999; },
      [](SessionSpec& s) { s.run = 0; }};
  EXPECT_TRUE(IsPossible(Harness::Spec()));
  for (const auto& change : changes) {
    SessionSpec spec = Harness::Spec();
    change(spec);
    EXPECT_FALSE(IsPossible(spec));
  }
}

TEST_F(SessionTest, ASessionIsNotOpenedTwice) {
  harness_.AddSlots(8);
  harness_.Open(1, Harness::Spec());

  EXPECT_THAT(Message(TryOpen(1, Harness::Spec())), HasSubstr("session 1 is open already"));
}

TEST_F(SessionTest, OneFeedHasOneNumberOfSamples) {
  harness_.AddSlots(8);
  harness_.Open(1, Harness::Spec(1000));

  EXPECT_THAT(Message(TryOpen(2, Harness::Spec(1001))),
              HasSubstr("the feed has 1000 samples an epoch, not 1001"));
}

TEST_F(SessionTest, ASessionNeverHasMoreThanItsWindow) {
  harness_.AddSlots(8);
  const SessionId session = harness_.Open(1, Harness::Spec(1000, 2, 3));

  EXPECT_EQ(harness_.Decode(), 6u);

  EXPECT_EQ(harness_.core.View(session)->announced, 3u);
  EXPECT_EQ(harness_.core.View(session)->filling, 0u);
}

TEST_F(SessionTest, TakingMakesNoRoomReleasingDoes) {
  harness_.AddSlots(8);
  const SessionId session = harness_.Open(1, Harness::Spec(1000, 2, 3));
  harness_.Decode();
  ASSERT_TRUE(harness_.Take(session, 2).ok());
  EXPECT_EQ(harness_.Decode(), 0u);

  ASSERT_TRUE(harness_.Release(session, 1).ok());

  EXPECT_EQ(harness_.Decode(), 2u);
}

TEST_F(SessionTest, ClosingReclaimsEveryLeaseAndIsIdempotent) {
  harness_.AddSlots(4);
  const SessionId session = harness_.Open(1, Harness::Spec(1000, 2, 4));
  harness_.Decode();
  ASSERT_TRUE(harness_.Take(session, 2).ok());

  harness_.core.CloseSession(session);
  harness_.core.CloseSession(session);

  EXPECT_EQ(harness_.core.Count(kArena).cached, 4u);
  EXPECT_EQ(harness_.core.Count(kArena).held, 0u);
  EXPECT_EQ(harness_.core.View(kFeed)->sessions, 0u);
  EXPECT_TRUE(TryOpen(2, Harness::Spec(1000, 2, 4)).ok());
}

TEST_F(SessionTest, NothingIsAnnouncedToASessionThatIsClosed) {
  harness_.AddSlots(4);
  const SessionId session = harness_.Open(1, Harness::Spec(1000, 1, 1));
  harness_.core.RowDone(harness_.Give());

  harness_.core.CloseSession(session);

  EXPECT_TRUE(harness_.core.TakeAnnouncements().empty());
}

TEST_F(SessionTest, ADetachedSessionKeepsItsLeasesAndGetsNothingMore) {
  harness_.AddSlots(4);
  const SessionId session = harness_.Open(1, Harness::Spec(1000, 2, 4));
  harness_.Decode(5);  // two batches, and a row of the third

  harness_.core.DetachSession(session);

  EXPECT_EQ(harness_.Decode(), 0u);
  EXPECT_EQ(harness_.core.Count(kArena).held, 2u);
  EXPECT_EQ(harness_.core.Count(kArena).filling, 0u);
  EXPECT_THAT(harness_.core.Outstanding(session), ElementsAre(1, 2));
  EXPECT_TRUE(harness_.Take(session, 2).ok());
  EXPECT_TRUE(harness_.Release(session, 1).ok());
  EXPECT_EQ(harness_.Decode(), 0u);
  EXPECT_FALSE(harness_.core.View(session)->finished);
}

TEST_F(SessionTest, WhatADetachedSessionWasNotToldOfIsLetGo) {
  harness_.AddSlots(4);
  const SessionId session = harness_.Open(1, Harness::Spec(1000, 1, 4));
  harness_.Decode(1);
  harness_.core.RowDone(harness_.Give());  // ready but not delivered

  harness_.core.DetachSession(session);

  EXPECT_TRUE(harness_.core.TakeAnnouncements().empty());
  EXPECT_EQ(harness_.core.Count(kArena).held, 1u);
  EXPECT_EQ(harness_.core.Count(kArena).cached, 1u);
}

TEST_F(SessionTest, ADetachedSessionReservesOnlyWhatItHolds) {
  harness_.AddSlots(4);
  const SessionId session = harness_.Open(1, Harness::Spec(1000, 1, 4));
  harness_.Decode(1);
  harness_.core.DetachSession(session);

  EXPECT_FALSE(TryOpen(2, Harness::Spec(1000, 1, 4)).ok());
  EXPECT_TRUE(TryOpen(2, Harness::Spec(1000, 1, 3)).ok());
}

TEST_F(SessionTest, AWindowUntouchedForThirtySecondsShrinksToOneBatch) {
  harness_.AddSlots(4);
  const SessionId session = harness_.Open(1, Harness::Spec(1000, 1, 4));
  harness_.Decode(1);

  Tick(29);
  EXPECT_EQ(harness_.core.View(session)->window, 4u);
  Tick(1);

  EXPECT_EQ(harness_.core.View(session)->window, 1u);
  EXPECT_EQ(harness_.Decode(), 0u);
}

TEST_F(SessionTest, AWindowWhoseTrainerWaitsForABatchDoesNotShrink) {
  harness_.AddSlots(4);
  const SessionId session = harness_.Open(1, Harness::Spec(1000, 1, 4));
  harness_.Decode(1);
  ASSERT_TRUE(harness_.Take(session, 1).ok());

  Tick(60);  // nothing could be read meanwhile; the trainer still holds its last batch

  EXPECT_EQ(harness_.core.View(session)->window, 4u);
  EXPECT_EQ(harness_.Decode(), 3u);
}

TEST_F(SessionTest, AShrunkWindowGrowsAtTheNextTake) {
  harness_.AddSlots(4);
  const SessionId session = harness_.Open(1, Harness::Spec(1000, 1, 4));
  harness_.Decode(1);
  Tick(30);

  ASSERT_TRUE(harness_.Take(session, 1).ok());

  EXPECT_EQ(harness_.core.View(session)->window, 4u);
  EXPECT_EQ(harness_.Decode(), 3u);
}

TEST_F(SessionTest, SayingTheSameNumberAgainIsNotATake) {
  harness_.AddSlots(4);
  const SessionId session = harness_.Open(1, Harness::Spec(1000, 1, 4));
  harness_.Decode();
  ASSERT_TRUE(harness_.Take(session, 1).ok());
  harness_.now += std::chrono::seconds(20);
  ASSERT_TRUE(harness_.Take(session, 1).ok());

  Tick(10);

  EXPECT_EQ(harness_.core.View(session)->window, 1u);
}

TEST_F(SessionTest, AShrunkWindowStaysReserved) {
  harness_.AddSlots(4);
  harness_.Open(1, Harness::Spec(1000, 1, 4));
  harness_.Decode(1);
  Tick(60);

  EXPECT_FALSE(TryOpen(2, Harness::Spec(1000, 1, 1)).ok());
}

}  // namespace
}  // namespace penstock::feed
