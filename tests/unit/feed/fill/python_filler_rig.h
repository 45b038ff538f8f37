// The fill path of Python datasets, with a core and a pool. The test plays those who make batches.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/feed/fill/python_filler.h"
#include "server/feed/fill/runs.h"
#include "tests/support/fakes/fake_dataset.h"
#include "tests/unit/feed/core_pool.h"

namespace penstock::feed {

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
    EXPECT_THAT(ended, ::testing::SizeIs(1));
    ReportToCore(ended.at(0), core_);
    return ended.at(0);
  }
  uint64_t Need(uint64_t bytes) {
    const pyworkers::MakeItem& item = makers_.submitted.back();
    makers_.news.needs.push_back(
        {.need = {.id = item.id, .bytes = bytes, .granted = item.request.granted}});
    EXPECT_THAT(filler_.Collect(now_), ::testing::IsEmpty());
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

}  // namespace penstock::feed
