// Deaths of Python workers, and samples that raise exceptions.
#include <cstring>

#include "server/feed/identity/samples.h"
#include "tests/unit/feed/fill/python_filler_rig.h"

namespace penstock::feed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- Deaths ----

TEST_F(PythonFillerTest, ABatchOverWhichAWorkerDiedIsTriedOnceMoreThenTheFeedFails) {
  Open();
  Begin();
  EXPECT_EQ(End({.end = pyworkers::MakeEnd::kStrike, .row = 2}).end, FillEnd::kAgain);

  Begin();
  EXPECT_EQ(makers_.submitted[0].request.attempt, 1u);
  EXPECT_EQ(makers_.submitted[0].request.key_first, 0u) << "the same batch";
  const FillOutcome ended = End({.end = pyworkers::MakeEnd::kStrike,
                                 .row = 2,
                                 .how = "killed by signal 11 (Segmentation fault)",
                                 .words = "Fatal Python error"});

  EXPECT_EQ(ended.end, FillEnd::kLost);
  const std::string why(ended.feed_failed.message());
  EXPECT_THAT(why, HasSubstr("sample 2 of 'mine'"));
  EXPECT_THAT(why, HasSubstr("signal 11"));
  EXPECT_THAT(why, HasSubstr("Fatal Python error"));
}

TEST_F(PythonFillerTest, ADeathWhileTheBatchWasCollatedNamesTheBatch) {
  Open();
  Begin();
  End({.end = pyworkers::MakeEnd::kStrike});
  Begin();

  const FillOutcome ended = End({.end = pyworkers::MakeEnd::kStrike});

  EXPECT_THAT(std::string(ended.feed_failed.message()),
              HasSubstr("the batch of 4 samples that begins with sample 0"));
}

TEST_F(PythonFillerTest, ALostBatchIsNoStrikeAndASuccessForgetsOne) {
  Open();
  Begin();
  EXPECT_EQ(End({.end = pyworkers::MakeEnd::kLost}).end, FillEnd::kLost);
  Begin();
  EXPECT_EQ(makers_.submitted[0].request.attempt, 0u);
  End({.end = pyworkers::MakeEnd::kStrike});
  Begin();
  End({.end = pyworkers::MakeEnd::kMade, .bytes = 1});

  Begin();
  EXPECT_EQ(makers_.submitted[0].request.attempt, 0u);
  EXPECT_EQ(End({.end = pyworkers::MakeEnd::kStrike}).end, FillEnd::kAgain);
}

TEST_F(PythonFillerTest, AStreamThatIsLostFailsTheFeed) {
  feed_->spec.python->streams = 2;
  Open(/*rows=*/1);
  Begin();

  const FillOutcome ended =
      End({.end = pyworkers::MakeEnd::kStreamLost, .how = "killed by signal 9 (Killed)"});

  const std::string why(ended.feed_failed.message());
  EXPECT_THAT(why, HasSubstr("worker process 0 of the iterable dataset 'mine' died"));
  EXPECT_THAT(why, HasSubstr("signal 9"));
}

// ---- Bad samples that are replaced ----

class ReplacingTest : public PythonFillerTest {
 protected:
  ReplacingTest() { feed_->spec.python->replace_bad_samples = true; }
  // The samples of the batch that was given out last.
  std::vector<uint64_t> Samples() {
    const shm::MakeRequest& request = makers_.submitted.back().request;
    std::vector<uint64_t> ids(request.rows);
    std::memcpy(ids.data(),
                pool_.Find(pool::SegmentId(request.segment))->mapping.data() + request.slot_offset +
                    request.ids_offset,
                ids.size() * sizeof(uint64_t));
    return ids;
  }
};

TEST_F(ReplacingTest, AnotherSampleReplacesOneOverWhichWorkersDiedTwice) {
  Open();
  Begin();
  EXPECT_FALSE(End({.end = pyworkers::MakeEnd::kStrike, .row = 2}).quarantine_grew);
  Begin();
  EXPECT_EQ(Samples()[2], 2u);

  const FillOutcome ended = End({.end = pyworkers::MakeEnd::kStrike, .row = 2, .how = "killed"});

  EXPECT_EQ(ended.end, FillEnd::kAgain);
  EXPECT_TRUE(ended.feed_failed.ok());
  EXPECT_EQ(dataset_->quarantine.Find(2)->fault, base::Fault::kWorkerCrashed);
  EXPECT_TRUE(ended.quarantine_grew);
  EXPECT_THAT(std::string(ended.bad_sample.message()), HasSubstr("sample 2 of 'mine' (/fake/2)"));
  Begin();
  const std::vector<uint64_t> samples = Samples();
  EXPECT_EQ(samples[1], 1u);
  EXPECT_EQ(samples[2], StandInFor(feed_->spec, 0, 2, 1)) << "as for all other datasets";
  EXPECT_EQ(makers_.submitted[0].request.attempt, 0u);
}

TEST_F(ReplacingTest, AnExceptionIsDelivered) {
  Open();
  Begin();
  const FillOutcome ended = End({.end = pyworkers::MakeEnd::kRaised, .bytes = 9, .row = 2});
  EXPECT_EQ(ended.end, FillEnd::kDone);
  EXPECT_EQ(ended.keep, Keep::kNo);
}

TEST_F(ReplacingTest, TooManyBadSamplesFailTheFeed) {
  Open();
  Begin();
  for (uint64_t sample = 0; sample < kSamples; ++sample) {
    if (sample != 0) dataset_->PolicyOf(1000).OnRefused(sample);
  }

  EXPECT_TRUE(End({.end = pyworkers::MakeEnd::kStrike, .row = 0}).feed_failed.ok());
  Begin();

  const FillOutcome ended = End({.end = pyworkers::MakeEnd::kStrike, .row = 0});

  EXPECT_FALSE(ended.feed_failed.ok());
}

// ---- Deaths in general ----

TEST_F(PythonFillerTest, DeathsAreChargedAndWaitUntilThePauseEnds) {
  makers_.news.deaths.push_back({.account = feed_->account, .how = "killed"});
  filler_.Collect(now_);
  EXPECT_FALSE(filler_.MayRead(UserId(1000), *feed_, false, now_));
  EXPECT_TRUE(filler_.MayRead(UserId(1000), *feed_, false, now_ + std::chrono::seconds(2)));
  EXPECT_THAT(failures_, IsEmpty());

  for (int i = 0; i < 3; ++i)
    makers_.news.deaths.push_back({.account = feed_->account, .how = "killed", .words = "ouch"});
  filler_.Collect(now_);

  EXPECT_THAT(failures_, ElementsAre(HasSubstr("ouch")));
}

TEST_F(PythonFillerTest, WhenNoHostCanBeHadTheFeedsOfTheDatasetFail) {
  makers_.news.failed.emplace_back(dataset_.get(), absl::UnavailableError("no host"));
  filler_.Collect(now_);
  EXPECT_THAT(failures_, ElementsAre("no host"));
}

TEST_F(PythonFillerTest, ABatchThatNobodyWantsAnyMoreIsLeftBehindUntilItEnds) {
  Open();
  Begin();
  EXPECT_THAT(filler_.batches().LeftBehind(UserId(1000), core_), IsEmpty());
  core_.CloseSession(SessionId(1));
  EXPECT_THAT(filler_.batches().LeftBehind(UserId(1000), core_), SizeIs(1));

  End({.end = pyworkers::MakeEnd::kMade, .bytes = 1});

  EXPECT_THAT(filler_.batches().LeftBehind(UserId(1000), core_), IsEmpty());
  EXPECT_EQ(core_.CountAll().filling, 0u);
}

}  // namespace
}  // namespace penstock::feed
