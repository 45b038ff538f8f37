// Which row is given out next.
#include "tests/unit/feed/core/harness.h"

namespace penstock::feed {
namespace {

class ScheduleTest : public ::testing::Test {
 protected:
  static SessionSpec At(uint64_t epoch, uint64_t consumed, uint32_t window = 4) {
    SessionSpec spec = Harness::Spec(1000, 1, window);
    spec.first_epoch = epoch;
    spec.share.consumed = consumed;
    return spec;
  }
  static SessionSpec Of(uint32_t user, uint32_t batch_size, uint32_t window = 4) {
    SessionSpec spec = Harness::Spec(1'000'000, batch_size, window);
    spec.user = UserId(user);
    return spec;
  }

  Harness harness_;
};

TEST_F(ScheduleTest, WithoutSessionsThereIsNothingToDecode) {
  harness_.AddSlots(4);

  EXPECT_FALSE(harness_.core.NextRow().has_value());
}

TEST_F(ScheduleTest, TheEarliestBatchOfAFeedIsFinishedBeforeTheNextIsBegun) {
  harness_.AddSlots(4);
  harness_.Open(1, Harness::Spec(1000, 3, 4));

  for (uint64_t index = 0; index < 12; ++index) EXPECT_EQ(harness_.Give().index, index);
}

TEST_F(ScheduleTest, TheSessionWithTheFewestReadyBatchesIsServed) {
  harness_.AddSlots(8);
  const SessionId behind = harness_.Open(1, At(0, 0));
  harness_.Decode();  // it has four ready
  const SessionId ahead = harness_.Open(2, At(0, 500));
  ASSERT_TRUE(harness_.Take(behind, 1).ok());
  ASSERT_TRUE(harness_.Release(behind, 1).ok());

  EXPECT_EQ(harness_.Give().index, 500u);  // it has none ready, although it is far ahead
  EXPECT_EQ(harness_.Give().index, 501u);
  EXPECT_EQ(harness_.Give().index, 502u);
  EXPECT_EQ(harness_.core.View(ahead)->filling, 3u);
}

TEST_F(ScheduleTest, AmongEquallyStarvingSessionsTheOneFurthestBehindIsServed) {
  harness_.AddSlots(8);
  harness_.Open(1, At(1, 10));
  harness_.Open(2, At(0, 500));

  EXPECT_EQ(harness_.Give().index, 500u);
  EXPECT_EQ(harness_.Give().index, 10u);
}

TEST_F(ScheduleTest, AheadByEpochIsFurtherThanAheadByConsumed) {
  harness_.AddSlots(8);
  harness_.Open(1, At(2, 0));
  harness_.Open(2, At(1, 999));

  EXPECT_EQ(harness_.Give().index, 999u);
}

TEST_F(ScheduleTest, SessionsThatBunchUpShareWhatIsDecoded) {
  harness_.AddSlots(16);
  const SessionId behind = harness_.Open(1, At(0, 0));
  const SessionId ahead = harness_.Open(2, At(0, 2));

  EXPECT_EQ(harness_.Decode(), 6u);  // batches 0 to 5, of which two are for both

  EXPECT_EQ(harness_.announced[behind].size(), 4u);
  EXPECT_EQ(harness_.announced[ahead].size(), 4u);
  EXPECT_EQ(harness_.announced[behind][2].slot, harness_.announced[ahead][0].slot);
}

// The newcomer, far behind, takes each batch as soon as it is ready, so it always starves.
TEST_F(ScheduleTest, ANewcomerDoesNotStarveThoseFarAheadOfIt) {
  harness_.AddSlots(8);
  const SessionId veteran = harness_.Open(1, At(30, 0));
  const SessionId newcomer = harness_.Open(2, At(0, 0));

  for (int batch = 0; batch < 400; ++batch) {
    ASSERT_EQ(harness_.Decode(1), 1u);
    for (SessionId session : {veteran, newcomer}) {
      const SessionView view = *harness_.core.View(session);
      if (view.announced > view.taken) harness_.Consume(session);
    }
  }

  EXPECT_GE(harness_.announced[veteran].size(), 45u);    // every eighth batch
  EXPECT_GE(harness_.announced[newcomer].size(), 340u);  // it still catches up
}

TEST_F(ScheduleTest, FeedsOfOneUserTakeTurnsWhereverTheyAre) {
  harness_.AddSlots(8);
  SessionSpec old = At(30, 0), fresh = At(0, 0);
  fresh.feed = FeedId(78);
  const SessionId veteran = harness_.Open(1, old), newcomer = harness_.Open(2, fresh);

  for (int batch = 0; batch < 100; ++batch) {
    ASSERT_EQ(harness_.Decode(1), 1u);
    for (SessionId session : {veteran, newcomer}) {
      const SessionView view = *harness_.core.View(session);
      if (view.announced > view.taken) harness_.Consume(session);
    }
  }

  EXPECT_NEAR(harness_.announced[veteran].size(), 50, 2);
  EXPECT_NEAR(harness_.announced[newcomer].size(), 50, 2);
}

// ---- Feeds that are unreadable for a while. ----

class UnreadableFeedTest : public ScheduleTest {
 protected:
  static constexpr FeedId kOther{78};

  SessionId OpenOther(uint64_t id, uint32_t user = 1000) {
    SessionSpec spec = Of(user, 3);
    spec.feed = kOther;
    spec.first_epoch = 9;
    return harness_.Open(id, spec);
  }
  std::optional<RowTask> Next() {
    return harness_.core.NextRow(
        FillPath::kWorkers, [](UserId) { return Turn::kNow; },
        [this](UserId, FeedId feed) { return feed != unreadable_; });
  }

  FeedId unreadable_{0};
};

TEST_F(UnreadableFeedTest, HoldsUpNoOtherOfTheSameUserAndGoesOnWhereItWas) {
  harness_.AddSlots(8);
  harness_.Open(1, Of(1000, 3));
  OpenOther(2);
  ASSERT_EQ(Next()->feed, kFeed);  // two rows of its slot remain

  unreadable_ = kFeed;
  uint64_t others = 0;
  while (const std::optional<RowTask> task = Next()) {
    EXPECT_EQ(task->feed, kOther);
    ++others;
  }
  EXPECT_EQ(others, 4u * 3);

  unreadable_ = FeedId(0);  // the core gets no event for this
  for (uint64_t index = 1; index < 12; ++index) EXPECT_EQ(Next()->index, index);
  EXPECT_FALSE(Next().has_value());
}

TEST_F(UnreadableFeedTest, RowsOfItThatCameBackWaitBehindThoseOfOthers) {
  harness_.AddSlots(8);
  harness_.Open(1, Of(1000, 3));
  OpenOther(2, 2000);
  const RowTask lost = *Next();
  harness_.core.RowReturned(lost);

  unreadable_ = kFeed;
  EXPECT_EQ(Next()->feed, kOther);

  unreadable_ = FeedId(0);
  EXPECT_EQ(Next()->index, lost.index);
}

TEST_F(UnreadableFeedTest, WhatNobodyWantsAnyMoreIsNotGoneOnWith) {
  harness_.AddSlots(8);
  const SessionId session = harness_.Open(1, Of(1000, 3));
  const RowTask given = *Next();
  EXPECT_TRUE(harness_.core.IsWanted(given));
  unreadable_ = kFeed;
  EXPECT_FALSE(Next().has_value());

  harness_.core.CloseSession(session);
  unreadable_ = FeedId(0);

  EXPECT_FALSE(harness_.core.IsWanted(given));
  EXPECT_FALSE(Next().has_value());
  harness_.core.RowReturned(given);
  EXPECT_EQ(harness_.core.Count(kArena).filling, 0u);
}

// Its feed may be gone, because a new one has replaced it.
TEST_F(UnreadableFeedTest, TheFeedOfASessionThatHasEndedIsNotAskedFor) {
  harness_.AddSlots(8);
  const SessionId session = harness_.Open(1, Of(1000, 3));
  harness_.Decode();
  harness_.core.DetachSession(session);

  const auto task = harness_.core.NextRow(
      FillPath::kWorkers, [](UserId) { return Turn::kNow; },
      [](UserId, FeedId feed) {
        ADD_FAILURE() << "feed " << feed.value();
        return true;
      });

  EXPECT_FALSE(task.has_value());
}

TEST_F(ScheduleTest, ASessionWhoseArenaHasNoSpareSlotHoldsUpNobody) {
  harness_.AddSlots(1);
  harness_.AddSlots(1, ArenaId(2));
  harness_.Open(1, Harness::Spec(1000, 1, 1));
  const RowTask with_worker = harness_.Give();
  harness_.core.CloseSession(SessionId(1));  // abandons the first arena's only slot
  harness_.Open(2, Harness::Spec(1000, 1, 1));
  SessionSpec other = Harness::Spec(1000, 1, 1);
  other.arena = ArenaId(2);
  other.share.consumed = 500;
  harness_.Open(3, other);

  EXPECT_EQ(harness_.Give().index, 500u);
  EXPECT_FALSE(harness_.core.NextRow().has_value());
  harness_.core.RowDone(with_worker);
  EXPECT_EQ(harness_.Give().index, 0u);
}

// Eight users who always want more, with batches of 8 to 1,024: each gets the same number of
// samples.
TEST_F(ScheduleTest, UsersShareTheDecodersBySamples) {
  harness_.AddSlots(8 * 2);
  std::map<UserId, uint64_t> rows;
  for (uint32_t user = 0; user < 8; ++user) harness_.Open(user, Of(user, 8u << user, 2));

  for (int row = 0; row < 80'000; ++row) {
    const RowTask task = harness_.Give();
    ++rows[task.user];
    harness_.core.RowDone(task);
    harness_.Hear();
    const SessionId session(task.user.value());
    while (harness_.core.View(session)->announced > harness_.core.View(session)->taken) {
      harness_.Consume(session);
    }
  }

  ASSERT_EQ(rows.size(), 8u);
  for (const auto& [user, count] : rows) EXPECT_NEAR(count, 10'000, 64) << user.value();
}

// Fills whole slots of 8 to 1,024 rows at once. A user that got many rows waits until the others
// have caught up.
TEST_F(ScheduleTest, UsersShareTheRowCopiersBySamplesHoweverLongTheirRunsAre) {
  harness_.AddSlots(8 * 2);
  std::map<UserId, uint64_t> rows;
  for (uint32_t user = 0; user < 8; ++user) {
    SessionSpec spec = Of(user, 8u << user, 2);
    spec.feed = FeedId(user);
    spec.fill_path = FillPath::kRowCopiers;
    spec.run = 8u << user;
    harness_.Open(user, spec);
  }

  for (uint64_t given = 0; given < 160'000;) {
    const RowTask task = harness_.core.NextRow(FillPath::kRowCopiers).value();
    given += task.rows;
    rows[task.user] += task.rows;
    harness_.core.RowDone(task);
    harness_.Hear();
    harness_.Consume(SessionId(task.user.value()));
  }

  ASSERT_EQ(rows.size(), 8u);
  for (const auto& [user, count] : rows) EXPECT_NEAR(count, 20'000, 1'100) << user.value();
}

TEST_F(ScheduleTest, WhoeverIsAloneIsServedWhateverItOwes) {
  harness_.AddSlots(4);
  SessionSpec spec = Of(1, 1024, 4);
  spec.fill_path = FillPath::kRowCopiers;
  spec.run = 1024;
  harness_.Open(1, spec);

  for (int batch = 0; batch < 4; ++batch) {
    EXPECT_EQ(harness_.core.NextRow(FillPath::kRowCopiers).value().rows, 1024u);
  }
}

TEST_F(ScheduleTest, WhatAUserDoesNotUseIsForTheOthers) {
  harness_.AddSlots(8);
  harness_.Open(1, Of(1, 4, 2));
  harness_.Open(2, Of(2, 64, 4));
  ASSERT_EQ(harness_.Decode(), 2u * 4 + 4u * 64);  // the first wants no more than two batches

  harness_.Consume(SessionId(2));

  EXPECT_EQ(harness_.Decode(), 64u);
}

TEST_F(ScheduleTest, AUserThatWasIdleHasSavedNothingUp) {
  harness_.AddSlots(8);
  harness_.Open(1, Of(1, 32, 2));
  for (int batch = 0; batch < 50; ++batch) {
    harness_.Decode();
    harness_.Consume(SessionId(1));
  }
  harness_.Open(2, Of(2, 32, 4));

  std::map<UserId, uint64_t> rows;
  for (int row = 0; row < 64; ++row) ++rows[harness_.Give().user];

  // The difference is at most one turn's credit, which is 25 rows: a row is assumed to take a
  // millisecond until one has been measured.
  EXPECT_GE(rows[UserId(1)], 64u / 2 - 25);
  EXPECT_LE(rows[UserId(2)], 64u / 2 + 25);
}

// A user whose rows take 800 times as long gets 800 times fewer.
TEST_F(ScheduleTest, UsersShareTheDecodersByWhatTheirRowsTake) {
  harness_.AddSlots(8);
  harness_.Open(1, Of(1, 8, 2));
  harness_.Open(2, Of(2, 8, 2));
  std::map<UserId, base::Duration> took;
  for (int row = 0; row < 50'000; ++row) {
    const RowTask task = harness_.Give();
    const base::Duration cost = task.user == UserId(1)
                                    ? base::Duration(std::chrono::milliseconds(400))
                                    : std::chrono::microseconds(500);
    took[task.user] += cost;
    harness_.core.RowDone(task, cost);
    harness_.Hear();
    const SessionId session(task.user.value());
    while (harness_.core.View(session)->announced > harness_.core.View(session)->taken)
      harness_.Consume(session);
  }

  EXPECT_NEAR(
      static_cast<double>(took[UserId(1)].count()) / static_cast<double>(took[UserId(2)].count()),
      1, 0.1);
}

TEST_F(ScheduleTest, WhoMustWaitForAPlaceIsTheOneThatHasHadTheLeast) {
  harness_.AddSlots(8);
  for (uint32_t user = 1; user <= 3; ++user) harness_.Open(user, Of(user, 8, 2));
  for (int row = 0; row < 3; ++row) {
    const RowTask task = harness_.Give();
    harness_.core.RowDone(task, std::chrono::seconds(task.user.value() == 2 ? 1 : 10));
  }
  const auto may_read = [](UserId, FeedId) { return true; };

  EXPECT_FALSE(harness_.core.NextRow(
      FillPath::kWorkers, [](UserId) { return Turn::kLater; }, may_read));
  EXPECT_EQ(harness_.core.Claimant(FillPath::kWorkers), UserId(2));
  EXPECT_FALSE(harness_.core.NextRow(
      FillPath::kWorkers, [](UserId user) { return user.value() == 2 ? Turn::kNot : Turn::kLater; },
      may_read));
  EXPECT_NE(harness_.core.Claimant(FillPath::kWorkers), UserId(2));
  EXPECT_TRUE(harness_.core.NextRow().has_value());
  EXPECT_EQ(harness_.core.Claimant(FillPath::kWorkers), std::nullopt);
}

// Otherwise a user with only returned rows would wait for ever.
TEST_F(ScheduleTest, RowsThatCameBackClaimAPlaceToo) {
  harness_.AddSlots(2);
  harness_.Open(1, Of(1, 1, 1));
  harness_.core.RowReturned(harness_.Give());
  const auto may_read = [](UserId, FeedId) { return true; };

  EXPECT_FALSE(harness_.core.NextRow(
      FillPath::kWorkers, [](UserId) { return Turn::kLater; }, may_read));
  EXPECT_EQ(harness_.core.Claimant(FillPath::kWorkers), UserId(1));
  EXPECT_TRUE(harness_.core.NextRow().has_value());
}

TEST_F(ScheduleTest, UsersMayLeaveInAnyOrderInTheMiddleOfATurn) {
  for (uint32_t leaving = 0; leaving < 4; ++leaving) {
    Harness harness;
    harness.AddSlots(8);
    for (uint32_t user = 0; user < 4; ++user) harness.Open(user, Of(user, 64, 2));
    for (int row = 0; row < 40; ++row) harness.core.RowDone(harness.Give());

    harness.core.CloseSession(SessionId(leaving));

    EXPECT_EQ(harness.Decode(), 3u * (128 - 10));
  }
}

}  // namespace
}  // namespace penstock::feed
