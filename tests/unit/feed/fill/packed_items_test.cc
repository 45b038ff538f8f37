// Runs of packed rows: from the core's tasks to workers' items and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "server/feed/fill/rows.h"
#include "server/feed/fill/runs.h"
#include "tests/support/fakes/fake_dataset.h"
#include "tests/unit/feed/core_pool.h"

namespace penstock::feed {
namespace {

using base::Fault;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using workers::OutcomeKind;

constexpr uint64_t kPackedSamples = 100;
constexpr uint32_t kBatchRows = 8;
constexpr SessionId kPackedSession{1};

class PackedItemsTest : public ::testing::Test {
 protected:
  PackedItemsTest() {
    const uint64_t arena = pool_.ArenaOf(0, pool::LayOut(feed_->spec.Layout().blocks, kBatchRows));
    EXPECT_TRUE(pool_.Reserve(arena, 2).ok());
    SessionSpec session;
    session.feed = FeedId(1);
    session.arena = ArenaId(arena);
    session.fill_path = ToFillPath(feed_->spec);
    session.run = RunOf(feed_->spec);
    session.share = {.samples = kPackedSamples, .batch_size = kBatchRows};
    session.window = 2;
    EXPECT_TRUE(core_.OpenSession(kPackedSession, session, {}).ok());
  }

  static std::shared_ptr<Feed> MakeFeed() {
    auto feed = std::make_shared<Feed>();
    feed->called = "rows";
    feed->spec.samples = kPackedSamples;
    feed->spec.storage = source::Storage::kRows;
    feed->spec.packed = true;
    feed->spec.largest_sample = 60'000;  // four fit into 256 KiB
    feed->spec.selection.fields = {0};
    feed->spec.selection.layout.Add("x", base::DType::kInt64, {2},
                                    source::RowLayout::Length::kVariable);
    feed->dataset = std::make_shared<DatasetState>(
        DatasetState{.name = "rows",
                     .dataset = std::make_shared<testing::FakeDataset>(kPackedSamples),
                     .quarantine = {},
                     .policy = FaultPolicy(kPackedSamples)});
    return feed;
  }
  // Begins the item of the next run.
  workers::WorkItem Begin() {
    task_ = core_.NextRow().value();
    return rows_.Begin(task_, feed_, pool_.Place(task_.slot.value())).value();
  }
  FillOutcome End(const workers::WorkItem& item, OutcomeKind kind, Fault fault = Fault::kNone,
                  uint32_t row = 0) {
    return rows_.End({.id = item.id, .kind = kind, .fault = fault, .row = row}, pool_);
  }

  Core core_;
  pool::Pool pool_ = MakeCorePool(core_, 4096);
  const std::shared_ptr<Feed> feed_ = MakeFeed();
  Rows rows_;
  RowTask task_;
};

TEST_F(PackedItemsTest, WorkersFillThemInRunsThatFitTheirInputMemory) {
  FeedSpec spec = feed_->spec;

  EXPECT_EQ(ToFillPath(spec), FillPath::kWorkers);
  EXPECT_EQ(RunOf(spec), 4u);
  spec.largest_sample = 1 << 30;
  EXPECT_EQ(RunOf(spec), 1u);
  spec.largest_sample = 8;
  EXPECT_EQ(RunOf(spec), unpack::kMaxRecipeSamples);
  spec.packed = false;
  EXPECT_EQ(ToFillPath(spec), FillPath::kRowCopiers);
}

TEST_F(PackedItemsTest, AnItemHasAllSamplesOfItsRunAndWhereTheirRowsAre) {
  Begin();
  const workers::WorkItem item = Begin();

  const pool::SlotPlace place = pool_.Place(task_.slot.value());
  EXPECT_THAT(item.run, ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(item.sample, 4u);
  EXPECT_EQ(item.row_offset, place.offset + 4 * 16);
  EXPECT_EQ(item.row, place.data + 4 * 16);
  EXPECT_THAT(item.field_rows, ElementsAre(place.Row(0, 4), place.Row(1, 4)));
  EXPECT_EQ(item.selection, &feed_->spec.selection);
}

TEST_F(PackedItemsTest, ARunThatIsDoneGetsItsLabelsAndIds) {
  const workers::WorkItem first = Begin(), second = Begin();
  End(first, OutcomeKind::kDone);
  End(second, OutcomeKind::kDone);

  const pool::SlotPlace place = pool_.Place(task_.slot.value());
  int64_t labels[kBatchRows];
  uint64_t ids[kBatchRows];
  std::memcpy(labels, place.data + place.layout.labels_offset, sizeof labels);
  std::memcpy(ids, place.data + place.layout.ids_offset, sizeof ids);
  EXPECT_THAT(labels, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(ids, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(rows_.decoded(), 0u);
}

TEST_F(PackedItemsTest, ASampleThatCannotBeUsedFailsTheFeedAndIsNamed) {
  const FillOutcome ended = End(Begin(), OutcomeKind::kRefused, Fault::kMissing, 2);

  EXPECT_EQ(ended.end, FillEnd::kNotRead);  // DataLoss isn't retried
  EXPECT_TRUE(absl::IsDataLoss(ended.why));
  EXPECT_THAT(std::string(ended.why.message()),
              AllOf(HasSubstr("'/fake/2': a field is missing"), HasSubstr("repair the record")));
  EXPECT_EQ(feed_->dataset->quarantine.Entries().size(), 0u);
  EXPECT_TRUE(feed_->dataset->policies.empty());
}

TEST_F(PackedItemsTest, ARunOverWhichTwoWorkersDieFailsTheFeed) {
  const workers::WorkItem first = Begin();
  const FillOutcome once = End(first, OutcomeKind::kStrike, Fault::kWorkerCrashed);
  EXPECT_EQ(once.end, FillEnd::kAgain);
  core_.RowReturned(task_);
  const FillOutcome twice = End(Begin(), OutcomeKind::kStrike, Fault::kWorkerCrashed);

  EXPECT_EQ(twice.end, FillEnd::kNotRead);
  EXPECT_THAT(std::string(twice.why.message()), HasSubstr("one of 4 samples from '/fake/0' on"));
  EXPECT_EQ(feed_->dataset->quarantine.Entries().size(), 0u);
}

}  // namespace
}  // namespace penstock::feed
