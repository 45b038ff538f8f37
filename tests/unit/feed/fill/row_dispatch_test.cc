// What all fill paths share, tested with fillers that the test controls.
#include "server/feed/fill/row_dispatch.h"

#include <deque>

#include "tests/unit/feed/session_rig.h"

namespace penstock::feed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class FakeFiller final : public Filler {
 public:
  size_t Capacity() const override { return capacity; }
  Turn TurnOf(UserId) const override { return turn; }
  bool MayRead(UserId, const Feed&, bool aside, base::TimePoint) const override {
    return !aside || may_read_aside;
  }
  std::optional<FillOutcome> Begin(FillJob job) override {
    begun.push_back(job);
    if (!ends_at_once) return std::nullopt;
    return FillOutcome{.task = job.task, .feed = job.feed};
  }
  std::vector<FillOutcome> Collect(base::TimePoint) override { return std::exchange(ended, {}); }
  void TakeOverdue(base::TimePoint, NoteOverdueRead note) override {
    for (const FillJob& job : std::exchange(overdue, {})) note(job.feed, 0, {.took = seconds(1)});
  }
  void GivenOut(base::TimePoint) override { ++passes; }

  // Ends the job that began first.
  FillOutcome& End(FillEnd end) {
    const FillJob job = begun.front();
    begun.pop_front();
    ended.push_back({.task = job.task,
                     .feed = job.feed,
                     .end = end,
                     .read = SourceHealth::Read{.aside = job.aside}});
    if (end == FillEnd::kNotRead) ended.back().why = absl::UnavailableError("gone");
    return ended.back();
  }

  size_t capacity = SIZE_MAX;
  Turn turn = Turn::kNow;
  bool may_read_aside = true, ends_at_once = false;
  std::deque<FillJob> begun;
  std::vector<FillOutcome> ended;
  std::vector<FillJob> overdue;
  int passes = 0;
};

class RowDispatchTest : public SessionRig {
 protected:
  RowDispatchTest() {
    const FeedId id = feeds_.IdOf(UserId(1000), dataset_, feed_->spec);
    feed_->id = id;
    feeds_.At(id).feed = feed_;
    session_ = Open(kPeer, feed_);
  }
  bool GiveOut() { return dispatch_.GiveOut(now_); }
  bool Collect() {
    base::TimePoint now = now_;
    return dispatch_.Collect(FillPath::kWorkers, now);
  }

  FakeFiller workers_, row_copiers_, nobody_, python_;
  FeedBook feeds_;
  const std::shared_ptr<Feed> feed_ = MakeFeed();
  uint64_t session_ = 0;
  std::vector<FillEnd> ended_;
  std::vector<absl::Status> failed_;
  int quarantines_grown_ = 0;
  RowDispatch dispatch_{
      seconds(60),
      core_,
      pool_,
      feeds_,
      {&workers_, &row_copiers_, &nobody_, &python_},
      {.ended = [this](FillPath, const FillOutcome& o) { ended_.push_back(o.end); },
       .quarantine_grew = [this](const auto&) { ++quarantines_grown_; },
       .feed_failed =
           [this](const Feed& feed, const absl::Status& why) {
             failed_.push_back(why);
             sessions_.FailFeed(feed, why);
           }}};
};

TEST_F(RowDispatchTest, RowsAreGivenOutOnTheirFillPathAsLongAsThereIsRoom) {
  workers_.capacity = 3;

  EXPECT_TRUE(GiveOut());
  EXPECT_THAT(workers_.begun, SizeIs(3));
  EXPECT_THAT(row_copiers_.begun, IsEmpty());
  EXPECT_TRUE(GiveOut());

  EXPECT_THAT(workers_.begun, SizeIs(4)) << "a window of two batches of two rows";
  EXPECT_FALSE(GiveOut());
  EXPECT_EQ(workers_.passes, 3);
  EXPECT_EQ(row_copiers_.passes, 3);
}

TEST_F(RowDispatchTest, NothingIsGivenToAUserWhoseTurnItIsNot) {
  workers_.turn = Turn::kLater;

  EXPECT_FALSE(GiveOut());
  EXPECT_EQ(core_.Claimant(FillPath::kWorkers), UserId(1000));
}

TEST_F(RowDispatchTest, RowsThatEndAtOnceAreABatchInTheSamePass) {
  workers_.ends_at_once = true;

  EXPECT_TRUE(GiveOut());

  EXPECT_THAT(core_.TakeAnnouncements(), SizeIs(2));
  EXPECT_THAT(ended_, SizeIs(4));
}

TEST_F(RowDispatchTest, TheCoreIsToldOnceHowRowsEnded) {
  GiveOut();
  workers_.End(FillEnd::kDone);
  workers_.End(FillEnd::kRefused).bad_sample = absl::DataLossError("torn");
  workers_.End(FillEnd::kAgain).quarantine_grew = true;
  workers_.End(FillEnd::kLost);

  EXPECT_TRUE(Collect());
  EXPECT_FALSE(Collect());
  EXPECT_EQ(core_.View(feed_->id)->rows_decoded, 1u);
  EXPECT_EQ(quarantines_grown_, 1);
  GiveOut();

  ASSERT_THAT(workers_.begun, SizeIs(3)) << "those that came back are given out again";
  EXPECT_EQ(workers_.begun[0].task.attempt, 1u) << "another sample stands in";
  EXPECT_EQ(workers_.begun[1].task.attempt, 0u);
}

TEST_F(RowDispatchTest, ARowThatCouldNotBeReadIsTriedAgainAfterAPause) {
  GiveOut();
  workers_.End(FillEnd::kNotRead);
  Collect();
  EXPECT_EQ(dispatch_.held().size(), 1u);
  EXPECT_FALSE(GiveOut());

  now_ += seconds(1);
  EXPECT_TRUE(GiveOut());

  EXPECT_EQ(workers_.begun.back().task.failed_reads, 1u);
  EXPECT_EQ(dispatch_.held().size(), 0u);
}

TEST_F(RowDispatchTest, AStallIsShownFromASecondOnWithItsReason) {
  GiveOut();
  workers_.End(FillEnd::kNotRead);
  Collect();

  EXPECT_FALSE(dispatch_.StallOf(*feed_, now_ + milliseconds(999)).has_value());
  const auto stall = dispatch_.StallOf(*feed_, now_ + seconds(1));

  ASSERT_TRUE(stall.has_value());
  EXPECT_EQ(stall->since, now_);
  EXPECT_EQ(stall->reason, "gone");
}

TEST_F(RowDispatchTest, AStallNamesNoSampleThatAnotherUserReads) {
  for (uint32_t failure = 0; failure < SourceHealth::kFailures; ++failure)
    dataset_->source.Failed({}, now_, "/fake/25: gone", 1001);

  const auto stall = dispatch_.StallOf(*feed_, now_ + seconds(1));

  ASSERT_TRUE(stall.has_value()) << "the source is read aside for all users";
  EXPECT_EQ(stall->since, now_);
  EXPECT_EQ(stall->reason, "reads from the dataset's storage fail or are blocked");
}

TEST_F(RowDispatchTest, AReadThatIsBlockedForAnotherUserIsNotNamed) {
  const std::shared_ptr<Feed> theirs = MakeFeed();
  theirs->id = feeds_.IdOf(UserId(1001), dataset_, theirs->spec);
  workers_.overdue = {{.task = {}, .feed = theirs}};
  dispatch_.Tick(now_);

  EXPECT_THAT(dispatch_.StallOf(*theirs, now_)->reason, HasSubstr("/fake/0: "));
  EXPECT_THAT(dispatch_.StallOf(*feed_, now_)->reason, Not(HasSubstr("/fake/")));
}

TEST_F(RowDispatchTest, AFailureOfAnotherUserThatDelaysNobodyIsNoStall) {
  dataset_->source.Failed({}, now_, "/fake/25: gone", 1001);

  EXPECT_FALSE(dispatch_.StallOf(*feed_, now_ + seconds(1)).has_value());
}

TEST_F(RowDispatchTest, AStallOfSeveralUsersHasTheReasonOfTheFeedsOwn) {
  GiveOut();
  workers_.End(FillEnd::kNotRead);
  Collect();
  dataset_->source.Failed({}, now_, "/fake/25: gone", 1001);

  EXPECT_EQ(dispatch_.StallOf(*feed_, now_ + seconds(1))->reason, "gone");
}

TEST_F(RowDispatchTest, AFeedThatCannotBeReadForTooLongFailsOnce) {
  GiveOut();
  for (int second = 0; second <= 61 && failed_.empty(); ++second) {
    while (!workers_.begun.empty()) workers_.End(FillEnd::kNotRead);
    Collect();
    now_ += seconds(1);
    GiveOut();
  }

  ASSERT_THAT(failed_, SizeIs(1));
  EXPECT_THAT(std::string(failed_[0].message()), HasSubstr("samples could not be read for 60 s"));
  EXPECT_TRUE(absl::IsUnavailable(feed_->failed));
  EXPECT_EQ(delivery(session_).state, shm::SessionState::kFailed);
}

TEST_F(RowDispatchTest, ATroubleOfLongAgoDoesNotShortenTheTimeToTryAgain) {
  feed_->dataset->source.Failed({}, now_, "an earlier trouble", 1000);
  now_ += seconds(600);  // nobody reads
  GiveOut();
  workers_.End(FillEnd::kNotRead);

  Collect();

  EXPECT_THAT(failed_, IsEmpty());
  EXPECT_EQ(dispatch_.held().size(), 1u);
}

TEST_F(RowDispatchTest, WhatIsStoredOtherwiseThanIndexedFailsTheFeedAtOnce) {
  GiveOut();
  workers_.End(FillEnd::kNotRead).why = absl::DataLossError("another length");

  Collect();

  EXPECT_THAT(failed_, ElementsAre(absl::DataLossError("another length")));
  EXPECT_EQ(dispatch_.held().size(), 0u);
}

TEST_F(RowDispatchTest, AReadThatDoesNotComeBackLetsOthersOfItsSourceBeReadAside) {
  workers_.capacity = 1;
  GiveOut();
  workers_.overdue = {workers_.begun.front()};
  dispatch_.Tick(now_);
  EXPECT_FALSE(GiveOut()) << "not before a pause";

  now_ += seconds(30);
  EXPECT_TRUE(GiveOut());

  EXPECT_TRUE(workers_.begun.back().aside);
  EXPECT_TRUE(dispatch_.StallOf(*feed_, now_).has_value());
}

TEST_F(RowDispatchTest, RowsThatNobodyWantsAnyMoreWaitForNothing) {
  GiveOut();
  workers_.End(FillEnd::kNotRead);
  Collect();

  sessions_.PeerGone(kPeer, now_);
  dispatch_.Tick(now_);

  EXPECT_EQ(dispatch_.held().size(), 0u);
}

}  // namespace
}  // namespace penstock::feed
