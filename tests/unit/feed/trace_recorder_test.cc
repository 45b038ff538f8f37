#include "server/feed/engine/trace_recorder.h"

#include "tests/unit/feed/session_rig.h"

namespace penstock::feed {
namespace {

using std::chrono::seconds;
using ::testing::SizeIs;

class TraceRecorderTest : public SessionRig {
 protected:
  TraceRequest Request(std::optional<uint32_t> user = {}) {
    return {.length = seconds(5), .user = user, .cancelled = [this] { return cancelled_; }};
  }
  void Take(const TraceRequest& request) {
    recorder_.Take(request, now_,
                   [this](absl::StatusOr<Trace> trace) { answers_.push_back(std::move(trace)); });
  }
  FillOutcome Outcome(uint32_t user = 1000) const {
    FillOutcome outcome;
    outcome.task.user = UserId(user);
    outcome.feed = feed_;
    outcome.sample = 7;
    outcome.worker = 3;
    outcome.times = FillTimes{.ended = now_ + seconds(1), .decode = seconds(1)};
    return outcome;
  }

  bool cancelled_ = false;
  const std::shared_ptr<Feed> feed_ = MakeFeed();
  std::vector<absl::StatusOr<Trace>> answers_;
  TraceRecorder recorder_{sessions_};
};

TEST_F(TraceRecorderTest, ATraceEndsWhenItsTimeIsUp) {
  Take(Request());
  recorder_.RowsEnded(FillPath::kWorkers, Outcome());

  recorder_.Tick(now_ + seconds(4));
  EXPECT_THAT(answers_, SizeIs(0));
  recorder_.Tick(now_ + seconds(5));

  ASSERT_THAT(answers_, SizeIs(1));
  const Trace& trace = answers_[0].value();
  ASSERT_THAT(trace.rows, SizeIs(1));
  EXPECT_EQ(trace.rows[0].sample, 7u);
  EXPECT_EQ(trace.rows[0].decode_begin, now_);
  EXPECT_FALSE(trace.rows[0].carried);
  EXPECT_EQ(trace.feeds.at(feed_->id.value()), "flowers");
  EXPECT_EQ(trace.ended, now_ + seconds(5));
}

TEST_F(TraceRecorderTest, ItEndsEarlyOnceNobodyWaitsForIt) {
  Take(Request());
  cancelled_ = true;

  recorder_.Tick(now_ + seconds(1));

  EXPECT_THAT(answers_, SizeIs(1));
}

TEST_F(TraceRecorderTest, OneOfAUserHoldsNothingOfOthers) {
  const uint64_t theirs = Open(kPeer, feed_, 2000);
  Take(Request(1000));

  recorder_.RowsEnded(FillPath::kRowCopiers, Outcome(1000));
  recorder_.RowsEnded(FillPath::kRowCopiers, Outcome(2000));
  recorder_.BatchReleased(theirs, *sessions_.Find(theirs), {});
  recorder_.SlotFull(*sessions_.Find(theirs), {}, {});
  recorder_.Tick(now_ + seconds(5));

  EXPECT_THAT(answers_.at(0)->rows, SizeIs(1));
  EXPECT_THAT(answers_.at(0)->batches, SizeIs(0));
  EXPECT_THAT(answers_.at(0)->fills, SizeIs(0));
}

TEST_F(TraceRecorderTest, OneIsTakenAtATimeButAnOperatorsComesFirst) {
  Take(Request(1000));
  Take(Request(1000));
  EXPECT_TRUE(absl::IsResourceExhausted(answers_.at(0).status()));

  Take(Request());
  EXPECT_TRUE(absl::IsAborted(answers_.at(1).status()));
  Take(Request());
  EXPECT_TRUE(absl::IsResourceExhausted(answers_.at(2).status()));
  EXPECT_THAT(answers_, SizeIs(3));
}

TEST_F(TraceRecorderTest, BatchesThatNobodyHasReleasedAreInIt) {
  const uint64_t id = Open(kPeer, feed_);
  Take(Request());
  sessions_.Find(id)->flow.Full({.sequence = 1, .full = now_});

  recorder_.End(absl::OkStatus(), now_);

  ASSERT_THAT(answers_.at(0)->batches, SizeIs(1));
  EXPECT_EQ(answers_.at(0)->sessions.at(id), "(flowers)");
}

TEST_F(TraceRecorderTest, RowsWithoutTimesAreNotWrittenDown) {
  Take(Request());
  FillOutcome untouched = Outcome(), instant = Outcome();
  untouched.times = FillTimes();
  instant.times.reset();

  recorder_.RowsEnded(FillPath::kWorkers, untouched);
  recorder_.RowsEnded(FillPath::kNobody, instant);
  recorder_.End(absl::OkStatus(), now_);

  EXPECT_THAT(answers_.at(0)->rows, SizeIs(0));
}

}  // namespace
}  // namespace penstock::feed
