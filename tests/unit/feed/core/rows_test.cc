// Rows are given out, answered, and given out again.
#include "tests/unit/feed/core/harness.h"

namespace penstock::feed {
namespace {

class RowsTest : public ::testing::Test {
 protected:
  RowsTest() {
    harness_.AddSlots(4);
    session_ = harness_.Open(1, Harness::Spec(1000, 3, 2));
  }

  Harness harness_;
  SessionId session_;
};

using RowsDeathTest = RowsTest;

TEST_F(RowsDeathTest, ARowIsAnsweredExactlyOnce) {
  const RowTask task = harness_.Give();
  harness_.core.RowDone(task);

  EXPECT_DEATH(harness_.core.RowDone(task), "from");
  EXPECT_DEATH(harness_.core.RowReturned(task), "from");
}

TEST_F(RowsTest, RowsOfASlotComeInOrderEachOnce) {
  for (uint32_t row = 0; row < 3; ++row) {
    const RowTask task = harness_.Give();
    EXPECT_EQ(task.row, row);
    EXPECT_EQ(task.index, row);
    EXPECT_EQ(task.attempt, 0u);
    EXPECT_EQ(task.user, kUser);
    EXPECT_EQ(task.feed, kFeed);
  }
  EXPECT_EQ(harness_.Give().index, 3u);  // the next batch
}

TEST_F(RowsTest, ABatchIsAnnouncedOnlyWhenEveryRowIsDone) {
  const RowTask a = harness_.Give(), b = harness_.Give(), c = harness_.Give();
  harness_.core.RowDone(c);
  harness_.core.RowDone(a);
  EXPECT_TRUE(harness_.core.TakeAnnouncements().empty());

  harness_.core.RowDone(b);

  EXPECT_EQ(harness_.core.TakeAnnouncements().size(), 1u);
}

TEST_F(RowsTest, BatchesAreAnnouncedInOrderWhicheverIsFullFirst) {
  std::vector<RowTask> tasks;
  for (int row = 0; row < 6; ++row) tasks.push_back(harness_.Give());
  for (int row = 3; row < 6; ++row) harness_.core.RowDone(tasks[row]);
  EXPECT_TRUE(harness_.core.TakeAnnouncements().empty());

  for (int row = 0; row < 3; ++row) harness_.core.RowDone(tasks[row]);

  harness_.Hear();
  EXPECT_THAT(harness_.FirstsSent(session_), ::testing::ElementsAre(0, 3));
}

TEST_F(RowsTest, AReturnedRowIsGivenOutAgainBeforeAllOthersAsItWas) {
  const RowTask task = harness_.Give();

  harness_.core.RowReturned(task);

  const RowTask again = harness_.Give();
  EXPECT_EQ(again.row, task.row);
  EXPECT_EQ(again.generation, task.generation);
  EXPECT_EQ(again.attempt, 0u);
}

TEST_F(RowsTest, ARefusedRowIsGivenOutAgainAsTheNextAttempt) {
  RowTask task = harness_.Give();
  for (uint32_t attempt = 1; attempt <= 3; ++attempt) {
    harness_.core.RowRefused(task);
    task = harness_.Give();
    EXPECT_EQ(task.row, 0u);
    EXPECT_EQ(task.index, 0u);
    EXPECT_EQ(task.attempt, attempt);
  }
}

TEST_F(RowsTest, RowsThatCameBackAreGivenOutInTheOrderInWhichTheyDid) {
  const RowTask a = harness_.Give(), b = harness_.Give(), c = harness_.Give();
  harness_.core.RowReturned(c);
  harness_.core.RowRefused(a);
  harness_.core.RowReturned(b);

  EXPECT_EQ(harness_.Give().row, c.row);
  EXPECT_EQ(harness_.Give().row, a.row);
  EXPECT_EQ(harness_.Give().row, b.row);
  EXPECT_EQ(harness_.Give().index, 3u);
}

TEST_F(RowsTest, ARowThatCameBackOfASlotAbandonedSinceIsNotGivenOut) {
  harness_.core.RowReturned(harness_.Give());

  harness_.core.CloseSession(session_);

  EXPECT_FALSE(harness_.core.NextRow().has_value());
  EXPECT_EQ(harness_.core.Count(kArena).filling, 0u);
}

TEST_F(RowsTest, ARefusedRowOfAnAbandonedSlotFreesIt) {
  const RowTask task = harness_.Give();
  harness_.core.CloseSession(session_);
  EXPECT_EQ(harness_.core.Count(kArena).filling, 1u);

  harness_.core.RowRefused(task);

  EXPECT_EQ(harness_.core.Count(kArena).filling, 0u);
  EXPECT_FALSE(harness_.core.NextRow().has_value());
}

TEST_F(RowsTest, TheFeedCountsWhatWasDecodedAndReplaced) {
  harness_.core.RowRefused(harness_.Give());
  harness_.Decode();

  const FeedView view = *harness_.core.View(kFeed);
  EXPECT_EQ(view.rows_decoded, 6u);
  EXPECT_EQ(view.rows_replaced, 1u);
  EXPECT_EQ(view.batches_decoded, 2u);
  EXPECT_EQ(view.batches_announced, 2u);
  EXPECT_EQ(view.sessions, 1u);
}

// ---- Runs of rows for the row copiers. ----

class RunsTest : public ::testing::Test {
 protected:
  static SessionSpec Spec(uint32_t batch_size, uint32_t run) {
    SessionSpec spec = Harness::Spec(10, batch_size, 2);
    spec.feed = FeedId(78);
    spec.fill_path = FillPath::kRowCopiers;
    spec.run = run;
    return spec;
  }
  RowTask Give(FillPath fill_path = FillPath::kRowCopiers) {
    return harness_.core.NextRow(fill_path).value();
  }

  RunsTest() { harness_.AddSlots(4); }
  Harness harness_;
};

TEST_F(RunsTest, TheSessionsOfAFeedAgreeOnItsRuns) {
  harness_.Open(1, Spec(4, 3));

  EXPECT_THAT(Message(harness_.core.OpenSession(SessionId(2), Spec(4, 2), {})),
              ::testing::HasSubstr("must agree"));
}

TEST_F(RunsTest, ASlotIsGivenOutInRunsTheLastOfWhichIsWhatIsLeft) {
  harness_.Open(1, Spec(8, 3));

  const RowTask a = Give(), b = Give(), c = Give();

  EXPECT_THAT((std::vector{a.row, b.row, c.row}), ::testing::ElementsAre(0, 3, 6));
  EXPECT_THAT((std::vector{a.rows, b.rows, c.rows}), ::testing::ElementsAre(3, 3, 2));
  EXPECT_THAT((std::vector{a.index, b.index, c.index}), ::testing::ElementsAre(0, 3, 6));
}

TEST_F(RunsTest, ARunLongerThanTheSlotIsTheSlotAndItsDoneAnnouncesTheBatch) {
  harness_.Open(1, Spec(4, 1000));
  const RowTask all = Give();
  EXPECT_EQ(all.rows, 4u);

  harness_.core.RowDone(all);

  EXPECT_EQ(harness_.core.TakeAnnouncements().size(), 1u);
  EXPECT_EQ(harness_.core.View(FeedId(78))->rows_decoded, 4u);
}

TEST_F(RunsTest, AReturnedRunIsGivenOutAgainWholeAndFirst) {
  harness_.Open(1, Spec(8, 3));
  const RowTask first = Give();
  Give();

  harness_.core.RowReturned(first);

  const RowTask again = Give();
  EXPECT_EQ(again.row, 0u);
  EXPECT_EQ(again.rows, 3u);
}

TEST_F(RunsTest, OneFillPathHasNothingOfAnothers) {
  harness_.Open(1, Spec(4, 4));

  EXPECT_FALSE(harness_.core.NextRow(FillPath::kWorkers).has_value());
  EXPECT_FALSE(harness_.core.NextRow(FillPath::kNobody).has_value());
  EXPECT_TRUE(harness_.core.NextRow(FillPath::kRowCopiers).has_value());
}

// A user's rows that wait for a worker don't delay the rows that it needs copied.
TEST_F(RunsTest, ASlotThatWaitsForWorkersHoldsUpNoRun) {
  harness_.Open(1, Harness::Spec(1000, 3, 2));
  harness_.Give();
  harness_.Open(2, Spec(4, 4));

  EXPECT_EQ(Give().rows, 4u);
  EXPECT_EQ(Give(FillPath::kWorkers).row, 1u);
}

TEST_F(RunsTest, ARunOfAnAbandonedSlotFreesItWhenItEnds) {
  const SessionId session = harness_.Open(1, Spec(4, 4));
  const RowTask run = Give();
  harness_.core.CloseSession(session);
  EXPECT_EQ(harness_.core.Count(kArena).filling, 1u);

  harness_.core.RowReturned(run);

  EXPECT_EQ(harness_.core.Count(kArena).filling, 0u);
  EXPECT_FALSE(harness_.core.NextRow(FillPath::kRowCopiers).has_value());
}

TEST_F(RowsTest, AFeedThatNobodyKnowsHasNoView) {
  EXPECT_FALSE(harness_.core.View(FeedId(5)).has_value());
}

// Each of user 1's rows is refused, so all of them always come back.
TEST(RowsOfUsersTest, RowsThatComeBackForEverTakeOnlyTheirUsersShare) {
  Harness harness;
  harness.AddSlots(8);
  for (uint32_t user = 1; user <= 2; ++user) {
    SessionSpec spec = Harness::Spec(1'000'000, 8, 2);
    spec.user = UserId(user);
    harness.Open(user, spec);
  }
  std::map<UserId, uint64_t> rows;
  for (int row = 0; row < 1000; ++row) {
    const RowTask task = harness.Give();
    ++rows[task.user];
    if (task.user == UserId(1)) {
      harness.core.RowRefused(task, std::chrono::milliseconds(1));
      continue;
    }
    harness.core.RowDone(task, std::chrono::milliseconds(1));
    harness.Hear();
    while (harness.core.View(SessionId(2))->announced > harness.core.View(SessionId(2))->taken)
      harness.Consume(SessionId(2));
  }

  EXPECT_NEAR(static_cast<double>(rows[UserId(2)]), 500, 30);
}

}  // namespace
}  // namespace penstock::feed
