// Python datasets' batches from the core's task to a worker's item and back; the test makes them.
#include "server/feed/fill/python_filler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/feed/fill/row_dispatch.h"
#include "server/feed/fill/runs.h"
#include "tests/support/fakes/fake_dataset.h"
#include "tests/unit/feed/core_pool.h"

namespace penstock::feed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FakeMakers final : public pyworkers::BatchMakers {
 public:
  bool MayMake(pyworkers::DatasetRef of, bool in_stream) override {
    asked_for.insert({of, in_stream});
    return submitted.size() < most;
  }
  void Submit(pyworkers::DatasetRef, const pyworkers::MakeItem& item, base::TimePoint) override {
    submitted.push_back(item);
  }
  void GivenOut(base::TimePoint) override { ++passes; }
  pyworkers::MakerNews Collect(base::TimePoint) override { return std::exchange(news, {}); }
  void GiveRoom(const pyworkers::RoomWanted& wanted, uint64_t granted, base::TimePoint) override {
    rooms.emplace_back(wanted.need.id, granted);
  }

  std::set<std::pair<pyworkers::DatasetRef, bool>> asked_for;
  std::vector<pyworkers::MakeItem> submitted;
  std::vector<std::pair<uint64_t, uint64_t>> rooms;
  pyworkers::MakerNews news;
  size_t most = 1, passes = 0;
};

class PythonFillerTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kSamples = 10;
  static constexpr uint32_t kRows = 4;

  PythonFillerTest() {
    feed_->id = FeedId(3);
    feed_->dataset = dataset_;
    feed_->called = "mine";
    feed_->account = losses_.AccountOf("mine", 1000, now_);
    feed_->spec.samples = kSamples;
    feed_->spec.seed = 77;
    feed_->spec.storage = source::Storage::kMade;
    feed_->spec.python = session::PythonFeed{.max_batch_bytes = kMost};
  }
  void Open(uint32_t rows = kRows) {
    const pool::SlotLayout layout = pool::LayOutMade(rows, kMost);
    const uint64_t arena = pool_.ArenaOf(1000, layout);
    ASSERT_TRUE(pool_.Reserve(arena, 3).ok());
    SessionSpec spec{.user = UserId(1000),
                     .feed = feed_->id,
                     .arena = ArenaId(arena),
                     .fill_path = ToFillPath(feed_->spec),
                     .run = RunOf(feed_->spec),
                     .share = {.samples = kSamples, .batch_size = rows},
                     .epochs = 1,
                     .window = 3};
    ASSERT_TRUE(core_.OpenSession(SessionId(1), spec, now_).ok());
  }
  // Hands out the next batch, as the dispatch does.
  std::optional<FillOutcome> Begin() {
    const auto may_read = [this](UserId user, FeedId) {
      return filler_.MayRead(user, *feed_, false, now_);
    };
    const std::optional<RowTask> task = core_.NextRow(
        FillPath::kPython, [](UserId) { return Turn::kNow; }, may_read);
    EXPECT_TRUE(task.has_value());
    return filler_.Begin(
        {.task = *task, .feed = feed_, .place = &pool_.Place(task->slot.value()), .given = now_});
  }
  // … and it ends so.
  FillOutcome End(pyworkers::MakeResult result) {
    result.id = makers_.submitted.back().id;
    makers_.submitted.clear();
    makers_.news.results.push_back(result);
    const std::vector<FillOutcome> ended = filler_.Collect(now_);
    EXPECT_THAT(ended, SizeIs(1));
    ReportToCore(ended.at(0), core_);
    return ended.at(0);
  }
  uint64_t Need(uint64_t bytes) {
    const pyworkers::MakeItem& item = makers_.submitted.back();
    makers_.news.needs.push_back(
        {.need = {.id = item.id, .bytes = bytes, .granted = item.request.granted}});
    EXPECT_THAT(filler_.Collect(now_), IsEmpty());
    EXPECT_EQ(makers_.rooms.back().first, item.id);
    return makers_.rooms.back().second;
  }

  static constexpr uint64_t kMost = 600 << 10;
  base::TimePoint now_{std::chrono::hours(1)};
  const std::shared_ptr<DatasetState> dataset_ = std::make_shared<DatasetState>(
      DatasetState{.name = "mine",
                   .dataset = std::make_shared<testing::FakeDataset>(kSamples),
                   .quarantine = {},
                   .policy = FaultPolicy(kSamples)});
  const std::shared_ptr<Feed> feed_ = std::make_shared<Feed>();
  Core core_;
  pool::Pool pool_ = MakeCorePool(core_, 16384);  // of 1 MiB
  FakeMakers makers_;
  WorkerLosses losses_{
      {.budget = {.restarts = 3, .window = std::chrono::minutes(1)},
       .back_off = {.first = std::chrono::seconds(1), .longest = std::chrono::seconds(10)}}};
  std::vector<std::string> failures_;
  PythonFiller filler_{
      makers_,
      pool_,
      losses_,
      {.account_failed = [this](uint64_t, const auto& why) { Failed(why); },
       .dataset_failed = [this](const DatasetState*, const auto& why) { Failed(why); }}};
  void Failed(const absl::Status& why) { failures_.emplace_back(why.message()); }
};

TEST_F(PythonFillerTest, AWholeBatchIsOneItemWhoseIdsAreInTheSlot) {
  Open();

  EXPECT_FALSE(Begin().has_value());

  ASSERT_THAT(makers_.submitted, SizeIs(1));
  const shm::MakeRequest& request = makers_.submitted[0].request;
  EXPECT_EQ(request.rows, kRows);
  EXPECT_EQ(request.granted, 64u << 10);
  EXPECT_EQ(request.most, kMost);
  EXPECT_EQ(request.seed, 77u);
  EXPECT_EQ(request.key_first, 0u);
  EXPECT_EQ(request.key_step, 1u);
  const pool::Segment* segment = pool_.Find(pool::SegmentId(request.segment));
  ASSERT_NE(segment, nullptr);
  const std::byte* slot = segment->mapping.data() + request.slot_offset;
  std::vector<uint64_t> ids(kRows);
  std::memcpy(ids.data(), slot + request.ids_offset, kRows * sizeof(uint64_t));
  EXPECT_THAT(ids, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(End({.end = pyworkers::MakeEnd::kMade, .bytes = 9}).end, FillEnd::kDone);
  EXPECT_THAT(core_.TakeAnnouncements(), SizeIs(1));
}

TEST_F(PythonFillerTest, RanksThatGaveTheirOwnOrdersDrawByKeysOfTheirOwn) {
  feed_->spec.given_by = {.rank = 1, .ranks = 3};
  Open();
  makers_.most = 2;
  Begin();
  Begin();

  EXPECT_EQ(makers_.submitted[1].request.key_first, 4u * 3 + 1);
  EXPECT_EQ(makers_.submitted[1].request.key_step, 3u);
}

TEST_F(PythonFillerTest, OnlyAsManyAreGivenOutAsTheMakersTakeAndTheyHearOfEachPass) {
  Open();
  Begin();

  EXPECT_FALSE(filler_.MayRead(UserId(1000), *feed_, false, now_));
  filler_.GivenOut(now_);
  EXPECT_EQ(makers_.passes, 1u);
  EXPECT_THAT(makers_.asked_for,
              ElementsAre(std::pair<pyworkers::DatasetRef, bool>(dataset_.get(), false)));
}

TEST_F(PythonFillerTest, ABatchOfAStreamNamesItsUnit) {
  feed_->spec.python->streams = 2;
  Open(/*rows=*/1);
  makers_.most = 3;
  for (int i = 0; i < 3; ++i) Begin();

  EXPECT_EQ(makers_.submitted[1].request.stream, 1u);
  ASSERT_TRUE(makers_.submitted[2].part.has_value());
  EXPECT_EQ(makers_.submitted[2].part->stream, 0u);
  EXPECT_EQ(makers_.submitted[2].part->unit, 2u);
  EXPECT_EQ(makers_.submitted[2].part->feed, 3u);
}

TEST_F(PythonFillerTest, AnExceptionIsDeliveredAndNotKept) {
  Open();
  Begin();

  const FillOutcome ended = End({.end = pyworkers::MakeEnd::kRaised, .bytes = 9, .row = 2});

  EXPECT_EQ(ended.end, FillEnd::kDone);
  EXPECT_EQ(ended.keep, Keep::kNo);
  EXPECT_THAT(core_.TakeAnnouncements(), SizeIs(1));
}

// ---- Room ----

TEST_F(PythonFillerTest, ABatchGetsAQuarterMoreThanItNeedsAndTheNextOneAtOnce) {
  Open();
  Begin();

  EXPECT_EQ(Need(160 << 10), 200u << 10);
  End({.end = pyworkers::MakeEnd::kMade, .bytes = 160 << 10});
  Begin();

  EXPECT_EQ(makers_.submitted[0].request.granted, 200u << 10);
}

TEST_F(PythonFillerTest, MoreThanTheFeedAllowsIsRefused) {
  Open();
  Begin();
  EXPECT_EQ(Need(kMost + 1), 64u << 10);
  EXPECT_EQ(Need(kMost), kMost) << "and exactly as much is not";
}

TEST_F(PythonFillerTest, MoreThanThePoolHasIsRefusedWithoutWaiting) {
  Open();
  Begin();
  EXPECT_EQ(Need(500 << 10), 600u << 10);
  End({.end = pyworkers::MakeEnd::kMade, .bytes = 500 << 10});
  Begin();
  EXPECT_EQ(makers_.submitted[0].request.granted, 64u << 10) << "all that is left of 1 MiB";

  EXPECT_EQ(Need(500 << 10), 64u << 10);
}

TEST_F(PythonFillerTest, WithoutRoomEvenForAnErrorTheFeedFails) {
  Open();
  Begin();
  Need(590 << 10);
  End({.end = pyworkers::MakeEnd::kMade, .bytes = 590 << 10});
  Begin();
  Need(400 << 10);
  End({.end = pyworkers::MakeEnd::kMade, .bytes = 400 << 10});

  const std::optional<FillOutcome> ended = Begin();

  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->end, FillEnd::kLost);
  EXPECT_THAT(std::string(ended->feed_failed.message()), HasSubstr("pool"));
}

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
