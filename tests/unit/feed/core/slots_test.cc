// Slots: sessions with the same batch share them, free ones are cached, and they are refilled only
// when nobody can see them.
#include "tests/unit/feed/core/harness.h"

namespace penstock::feed {
namespace {

using ::testing::ElementsAre;

class SlotsTest : public ::testing::Test {
 protected:
  Harness harness_;
};

TEST_F(SlotsTest, SlotsThatAreHeldOrFillingAreNotTakenAway) {
  harness_.AddSlots(3);
  const SessionId session = harness_.Open(1, Harness::Spec(1000, 1, 1));
  const RowTask task = harness_.Give();
  EXPECT_FALSE(harness_.core.RemoveSlots(kArena, harness_.slots));
  EXPECT_FALSE(harness_.core.RemoveSlots(kArena, std::span(&task.slot, 1)));
  harness_.core.RowDone(task);
  harness_.Hear();
  EXPECT_FALSE(harness_.core.RemoveSlots(kArena, std::span(&task.slot, 1)));
  EXPECT_EQ(harness_.core.Count(kArena).slots, 3u);

  harness_.core.CloseSession(session);

  EXPECT_TRUE(harness_.core.RemoveSlots(kArena, harness_.slots));
  EXPECT_EQ(harness_.core.Count(kArena).slots, 0u);
}

TEST_F(SlotsTest, SlotsThatWindowsNeedAreNotTakenAway) {
  harness_.AddSlots(3);
  harness_.Open(1, Harness::Spec(1000, 1, 2));

  EXPECT_FALSE(harness_.core.RemoveSlots(kArena, std::span(harness_.slots).first(2)));
  EXPECT_TRUE(harness_.core.RemoveSlots(kArena, std::span(harness_.slots).first(1)));
}

TEST_F(SlotsTest, ACachedSlotIsTakenAwayAndWhatItHeldIsGone) {
  harness_.AddSlots(1);
  harness_.core.CloseSession(harness_.Open(1, Harness::Spec(1000, 1, 1)));
  harness_.Open(2, Harness::Spec(1000, 1, 1));
  harness_.Decode();
  harness_.core.CloseSession(SessionId(2));
  ASSERT_EQ(harness_.core.Count(kArena).cached, 1u);

  ASSERT_TRUE(harness_.core.RemoveSlots(kArena, harness_.slots));
  harness_.AddSlots(1);
  harness_.Open(3, Harness::Spec(1000, 1, 1));

  EXPECT_EQ(harness_.Decode(), 1u);
}

TEST_F(SlotsTest, TwoSessionsThatWantTheSamePositionHoldTheSameSlot) {
  harness_.AddSlots(4);
  const SessionId a = harness_.Open(1, Harness::Spec()), b = harness_.Open(2, Harness::Spec());

  EXPECT_EQ(harness_.Decode(), 4u);

  ASSERT_EQ(harness_.announced[a].size(), 2u);
  ASSERT_EQ(harness_.announced[b].size(), 2u);
  EXPECT_EQ(harness_.announced[a][0].slot, harness_.announced[b][0].slot);
  EXPECT_EQ(harness_.announced[a][0].generation, harness_.announced[b][0].generation);
  EXPECT_EQ(harness_.core.Count(kArena).held, 2u);
}

TEST_F(SlotsTest, ASessionJoinsASlotThatIsFilling) {
  harness_.AddSlots(4);
  harness_.Open(1, Harness::Spec(1000, 2, 1));
  const RowTask first = harness_.Give();

  const SessionId late = harness_.Open(2, Harness::Spec(1000, 2, 1));

  EXPECT_EQ(harness_.core.View(late)->filling, 1u);
  harness_.core.RowDone(first);
  EXPECT_EQ(harness_.Decode(), 1u);
  EXPECT_EQ(harness_.announced[late].size(), 1u);
}

TEST_F(SlotsTest, ASessionJoinsASlotThatAnotherHolds) {
  harness_.AddSlots(4);
  const SessionId first = harness_.Open(1, Harness::Spec());
  harness_.Decode();

  const SessionId late = harness_.Open(2, Harness::Spec());
  harness_.Hear();

  EXPECT_EQ(harness_.announced[late].size(), 2u);
  EXPECT_EQ(harness_.announced[late][0].slot, harness_.announced[first][0].slot);
  EXPECT_EQ(harness_.Decode(), 0u);
}

TEST_F(SlotsTest, ASlotHeldByTwoIsFreeOnlyWhenBothReleasedIt) {
  harness_.AddSlots(2);
  const SessionId a = harness_.Open(1, Harness::Spec(1000, 1, 1));
  const SessionId b = harness_.Open(2, Harness::Spec(1000, 1, 1));
  harness_.Decode();
  ASSERT_TRUE(harness_.Take(a, 1).ok());
  ASSERT_TRUE(harness_.Take(b, 1).ok());

  ASSERT_TRUE(harness_.Release(a, 1).ok());
  EXPECT_EQ(harness_.core.Count(kArena).held, 1u);
  ASSERT_TRUE(harness_.Release(b, 1).ok());

  EXPECT_EQ(harness_.core.Count(kArena).held, 0u);
  EXPECT_EQ(harness_.core.Count(kArena).cached, 1u);
}

TEST_F(SlotsTest, AReleasedSlotServesALatecomerWithoutDecoding) {
  harness_.AddSlots(4);
  const SessionId first = harness_.Open(1, Harness::Spec(1000, 1, 1));
  harness_.Decode();
  harness_.Consume(first);
  harness_.Decode();

  const SessionId late = harness_.Open(2, Harness::Spec(1000, 1, 2));
  harness_.Hear();

  EXPECT_EQ(harness_.announced[late].size(), 2u);
  EXPECT_EQ(harness_.core.View(kFeed)->batches_decoded, 2u);
}

TEST_F(SlotsTest, AReleasedSlotIsFilledAgainOnlyUnderANewGeneration) {
  harness_.AddSlots(1);
  const SessionId session = harness_.Open(1, Harness::Spec(1000, 1, 1));
  for (int batch = 0; batch < 5; ++batch) {
    harness_.Decode();
    harness_.Consume(session);
  }

  std::vector<uint64_t> generations;
  for (const Announcement& a : harness_.announced[session]) generations.push_back(a.generation);

  EXPECT_THAT(generations, ElementsAre(1, 2, 3, 4, 5));
}

// Rows that the next fill of the only slot gives out, and whether each rewrites its own.
std::vector<bool> Rewrites(Harness& harness) {
  std::vector<bool> rewrites;
  while (const std::optional<RowTask> task = harness.core.NextRow()) {
    rewrites.push_back(task->rewrites);
    harness.core.RowDone(*task);
  }
  harness.Hear();
  return rewrites;
}

TEST_F(SlotsTest, ARowRewritesItsOwnOnceItsFeedHasCompletedItThere) {
  harness_.AddSlots(1);
  const SessionId session = harness_.Open(1, Harness::Spec(7, 4, 1));  // batches of 4 and 3
  EXPECT_THAT(Rewrites(harness_), ElementsAre(false, false, false, false));
  for (size_t rows : {3, 4, 3, 4}) {
    harness_.Consume(session);
    EXPECT_EQ(Rewrites(harness_), std::vector<bool>(rows, true));
  }
}

TEST_F(SlotsTest, ARowBeyondAShortBatchIsNoRewriting) {
  harness_.AddSlots(1);
  SessionSpec spec = Harness::Spec(7, 4, 1);
  spec.share.consumed = 4;
  const SessionId session = harness_.Open(1, spec);
  EXPECT_THAT(Rewrites(harness_), ElementsAre(false, false, false));
  harness_.Consume(session);
  EXPECT_THAT(Rewrites(harness_), ElementsAre(true, true, true, false));
}

TEST_F(SlotsTest, NoRowRewritesAnotherFeedsEvenIfThatCompletedNone) {
  harness_.AddSlots(1);
  SessionId session = harness_.Open(1, Harness::Spec(1000, 2, 1));
  EXPECT_THAT(Rewrites(harness_), ElementsAre(false, false));
  harness_.core.CloseSession(session);

  SessionSpec other = Harness::Spec(1000, 2, 1);
  other.feed = FeedId(78);
  session = harness_.Open(2, other);
  const RowTask begun = harness_.Give();
  EXPECT_FALSE(begun.rewrites);
  harness_.core.CloseSession(session);
  harness_.core.RowReturned(begun);

  harness_.Open(3, Harness::Spec(1000, 2, 1));
  EXPECT_THAT(Rewrites(harness_), ElementsAre(false, false));
}

TEST_F(SlotsTest, FreeSlotsAreUsedBeforeCachedOnes) {
  harness_.AddSlots(3);
  const SessionId session = harness_.Open(1, Harness::Spec(1000, 1, 1));
  harness_.Decode();
  for (int i = 0; i < 2; ++i) {
    harness_.Consume(session);
    harness_.Decode();
  }

  EXPECT_EQ(harness_.core.Count(kArena).cached, 2u);
  EXPECT_EQ(harness_.core.Count(kArena).held, 1u);
}

TEST_F(SlotsTest, TheCachedSlotThatNobodyHeldForLongestIsFilledAnewFirst) {
  harness_.AddSlots(3);
  const SessionId session = harness_.Open(1, Harness::Spec(1000, 1, 3));
  harness_.Decode();
  ASSERT_TRUE(harness_.Take(session, 3).ok());
  const std::vector<Announcement> announced = harness_.announced[session];
  for (uint64_t sequence : {2, 3, 1}) ASSERT_TRUE(harness_.Release(session, sequence).ok());

  std::vector<SlotId> filled;
  for (int batch = 0; batch < 3; ++batch) filled.push_back(harness_.Give().slot);

  EXPECT_THAT(filled, ElementsAre(announced[1].slot, announced[2].slot, announced[0].slot));
}

TEST_F(SlotsTest, OtherUsersNeverShareASlot) {
  harness_.AddSlots(2);
  SessionSpec other = Harness::Spec(1000, 1, 1);
  other.user = UserId(1001);
  harness_.Open(1, Harness::Spec(1000, 1, 1));
  harness_.Open(2, other);

  EXPECT_EQ(harness_.Decode(), 2u);
}

TEST_F(SlotsTest, OtherFeedsVariantsAndArenasDoNotShareASlot) {
  harness_.AddSlots(3);
  harness_.AddSlots(1, ArenaId(2));
  SessionSpec feed = Harness::Spec(1000, 1, 1), variant = feed, arena = feed;
  feed.feed = FeedId(78);
  variant.variant = 1;
  arena.arena = ArenaId(2);
  harness_.Open(1, Harness::Spec(1000, 1, 1));
  harness_.Open(2, feed);
  harness_.Open(3, variant);
  harness_.Open(4, arena);

  EXPECT_EQ(harness_.Decode(), 4u);
}

TEST_F(SlotsTest, ShorterBatchesAtTheSamePlaceAreAnotherPosition) {
  harness_.AddSlots(2);
  harness_.Open(1, Harness::Spec(1000, 3, 1));
  harness_.Open(2, Harness::Spec(1000, 2, 1));

  EXPECT_EQ(harness_.Decode(), 5u);
}

TEST_F(SlotsTest, ANewVariantKeysWhatComesFromNowOn) {
  harness_.AddSlots(8);
  const SessionId a = harness_.Open(1, Harness::Spec(1000, 1, 2));
  harness_.Decode();

  harness_.core.SetVariant(kFeed, 1);
  SessionSpec late = Harness::Spec(1000, 1, 2);
  late.variant = 1;
  const SessionId b = harness_.Open(2, late);
  harness_.Decode();

  EXPECT_NE(harness_.announced[a][0].slot, harness_.announced[b][0].slot);
  harness_.Consume(a);
  harness_.Consume(b);
  EXPECT_EQ(harness_.Decode(), 1u);  // both are at batch 3 of the new variant
  EXPECT_EQ(harness_.announced[a][2].slot, harness_.announced[b][2].slot);
}

TEST_F(SlotsTest, AnAbandonedSlotIsFreeOnlyWhenNoWorkerHasARowOfIt) {
  harness_.AddSlots(1);
  harness_.Open(1, Harness::Spec(1000, 3, 1));
  const RowTask done = harness_.Give(), returned = harness_.Give();
  harness_.core.CloseSession(SessionId(1));
  const SessionId next = harness_.Open(2, Harness::Spec(1000, 3, 1));

  EXPECT_FALSE(harness_.core.NextRow().has_value());
  harness_.core.RowDone(done);
  EXPECT_FALSE(harness_.core.NextRow().has_value());
  EXPECT_EQ(harness_.core.Count(kArena).filling, 1u);
  harness_.core.RowReturned(returned);

  const RowTask fresh = harness_.Give();
  EXPECT_EQ(fresh.generation, done.generation + 1);
  harness_.core.RowDone(fresh);
  harness_.Decode();
  EXPECT_EQ(harness_.announced[next].size(), 1u);
}

TEST_F(SlotsTest, AnAbandonedSlotWithoutRowsAtWorkersIsFreeAtOnce) {
  harness_.AddSlots(1);
  harness_.Open(1, Harness::Spec(1000, 3, 1));
  harness_.Decode(1);

  harness_.core.CloseSession(SessionId(1));

  EXPECT_EQ(harness_.core.Count(kArena).filling, 0u);
  EXPECT_TRUE(harness_.core.RemoveSlots(kArena, harness_.slots));
}

TEST_F(SlotsTest, AFillingSlotGoesOnForThoseWhoStillWantIt) {
  harness_.AddSlots(2);
  harness_.Open(1, Harness::Spec(1000, 2, 1));
  const SessionId stays = harness_.Open(2, Harness::Spec(1000, 2, 1));
  const RowTask row = harness_.Give();

  harness_.core.CloseSession(SessionId(1));
  harness_.core.RowDone(row);

  EXPECT_EQ(harness_.Decode(), 1u);
  EXPECT_EQ(harness_.announced[stays].size(), 1u);
}

TEST_F(SlotsTest, ASlotThatIsNotToBeKeptIsNotFoundOnceItIsReleased) {
  harness_.AddSlots(2);
  const SessionId first = harness_.Open(1, Harness::Spec(1000, 2, 1));
  harness_.core.RowDone(harness_.Give(), {}, Keep::kNo);  // one row is enough
  harness_.core.RowDone(harness_.Give());
  harness_.Hear();
  const SessionId beside = harness_.Open(2, Harness::Spec(1000, 2, 1));
  harness_.Hear();
  EXPECT_EQ(harness_.announced[beside].size(), 1u) << "while it is held, it is shared";
  harness_.core.CloseSession(first);
  harness_.core.CloseSession(beside);
  EXPECT_EQ(harness_.core.Count(kArena).cached, 0u);

  harness_.Open(3, Harness::Spec(1000, 2, 2));

  EXPECT_EQ(harness_.Decode(), 4u);
  harness_.core.CloseSession(SessionId(3));
  EXPECT_EQ(harness_.core.Count(kArena).cached, 2u) << "its next filling is kept again";
}

TEST_F(SlotsTest, ASlotThatIsNotToBeKeptAndIsAbandonedIsFreedLikeOthers) {
  harness_.AddSlots(1);
  harness_.Open(1, Harness::Spec(1000, 2, 1));
  const RowTask bad = harness_.Give(), other = harness_.Give();
  harness_.core.RowDone(bad, {}, Keep::kNo);
  harness_.core.CloseSession(SessionId(1));
  EXPECT_EQ(harness_.core.Count(kArena).filling, 1u);

  harness_.core.RowDone(other, {}, Keep::kNo);

  EXPECT_EQ(harness_.core.Count(kArena).filling, 0u);
  EXPECT_EQ(harness_.core.Unused(kArena).size(), 1u);
}

TEST_F(SlotsTest, UnusedSlotsAreTheFreeOnesThenThoseHeldLongestAgo) {
  harness_.AddSlots(5);
  const SessionId session = harness_.Open(1, Harness::Spec(1000, 1, 4));
  harness_.Decode();
  ASSERT_TRUE(harness_.Take(session, 4).ok());
  const std::vector<Announcement> announced = harness_.announced[session];
  harness_.core.DetachSession(session);
  for (uint64_t sequence : {2, 1}) ASSERT_TRUE(harness_.Release(session, sequence).ok());

  EXPECT_THAT(harness_.core.Unused(kArena),
              ElementsAre(harness_.slots[4], announced[1].slot, announced[0].slot));
  EXPECT_TRUE(harness_.core.Unused(ArenaId(9)).empty());
}

TEST_F(SlotsTest, WhatAForgottenSlotHeldIsMadeAgainAndTheSlotStays) {
  harness_.AddSlots(1);
  harness_.Open(1, Harness::Spec(1000, 1, 1));
  harness_.Decode();
  harness_.core.CloseSession(SessionId(1));
  ASSERT_EQ(harness_.core.Count(kArena).cached, 1u);

  harness_.core.Forget(harness_.slots[0]);
  harness_.core.Forget(harness_.slots[0]);  // free ones may be forgotten, too

  EXPECT_EQ(harness_.core.Count(kArena).cached, 0u);
  harness_.Open(2, Harness::Spec(1000, 1, 1));
  EXPECT_EQ(harness_.Decode(), 1u);
}

using SlotsDeathTest = SlotsTest;

TEST_F(SlotsDeathTest, ASlotInUseIsNotForgotten) {
  harness_.AddSlots(1);
  harness_.Open(1, Harness::Spec(1000, 1, 1));
  const RowTask row = harness_.Give();
  EXPECT_DEATH(harness_.core.Forget(row.slot), "kFree");

  harness_.core.RowDone(row);

  EXPECT_DEATH(harness_.core.Forget(row.slot), "kFree");
}

TEST_F(SlotsTest, CountsCoverAllArenas) {
  harness_.AddSlots(3);
  harness_.AddSlots(2, ArenaId(2));
  harness_.Open(1, Harness::Spec(1000, 1, 1));
  harness_.Decode();

  EXPECT_EQ(harness_.core.CountAll().slots, 5u);
  EXPECT_EQ(harness_.core.CountAll().held, 1u);
}

}  // namespace
}  // namespace penstock::feed
