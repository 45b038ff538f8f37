// From the core's rows to workers' items and back, with a core and a pool of real slots.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "server/feed/fill/rows.h"
#include "tests/support/fakes/fake_dataset.h"
#include "tests/unit/feed/core_pool.h"

namespace penstock::feed {
namespace {

using base::Fault;
using workers::OutcomeKind;

constexpr uint64_t kSamples = 100;
constexpr uint32_t kRows = 4;  // per batch
constexpr SessionId kSession{1};

source::BadSample Crashed(uint64_t sample) {
  return {.sample = sample, .path = "", .fault = Fault::kWorkerCrashed};
}

class RowItemsTest : public ::testing::Test {
 protected:
  RowItemsTest() {
    feed_->spec.samples = kSamples;
    feed_->spec.seed = 3;
    feed_->spec.decoding.height = feed_->spec.decoding.width = 8;
    const uint64_t arena = pool_.ArenaOf(0, pool::LayOut({decode::RowBytes(spec())}, kRows));
    EXPECT_TRUE(pool_.Reserve(arena, 2).ok());
    SessionSpec session;
    session.feed = FeedId(1);
    session.arena = ArenaId(arena);
    session.share = {.samples = kSamples, .batch_size = kRows};
    session.window = 2;
    EXPECT_TRUE(core_.OpenSession(kSession, session, {}).ok());
  }

  const decode::Spec& spec() const { return feed_->spec.decoding; }
  DatasetState& dataset() { return *feed_->dataset; }

  // Begins the item of the next row.
  workers::WorkItem Begin() {
    task_ = core_.NextRow().value();
    return rows_.Begin(task_, feed_, pool_.Place(task_.slot.value())).value();
  }
  FillOutcome End(const workers::WorkItem& item, OutcomeKind kind, Fault fault = Fault::kNone,
                  const absl::Status& status = {}) {
    const FillOutcome ended =
        rows_.End({.id = item.id, .kind = kind, .fault = fault, .status = status}, pool_);
    ReportToCore(ended, core_);
    return ended;
  }

  Core core_;
  pool::Pool pool_ = MakeCorePool(core_, 4096);
  static std::shared_ptr<Feed> MakeFeed() {
    auto feed = std::make_shared<Feed>();
    feed->fingerprint = 1;
    feed->called = "flowers";
    feed->dataset = std::make_shared<DatasetState>(
        DatasetState{.name = "opened by somebody else",
                     .dataset = std::make_shared<testing::FakeDataset>(kSamples),
                     .quarantine = {},
                     .policy = FaultPolicy(kSamples)});
    return feed;
  }
  const std::shared_ptr<Feed> feed_ = MakeFeed();
  Rows rows_;
  RowTask task_;
};

TEST_F(RowItemsTest, WhenAThousandStandInsInARowAreQuarantinedThereIsNoItem) {
  for (uint64_t sample = 0; sample < kSamples; ++sample) dataset().quarantine.Add(Crashed(sample));
  const RowTask task = core_.NextRow().value();

  const auto item = rows_.Begin(task, feed_, pool_.Place(task.slot.value()));

  EXPECT_EQ(item.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(item.status().message()), ::testing::HasSubstr("'flowers'"));
  EXPECT_EQ(rows_.in_flight(), 0u);
}

// ---- Reads that don't return. ----

TEST_F(RowItemsTest, ReadsThatDoNotComeBackLeaveHalfOfTheThreadsForOthers) {
  const RowTask task = core_.NextRow().value();
  const UserId other(77);
  std::vector<workers::WorkItem> items;
  const auto read = [&](bool aside) {
    items.push_back(rows_.Begin(task, feed_, pool_.Place(task.slot.value()), aside).value());
    rows_.Overdue(items.back().id, [](const auto&, uint64_t, const auto&) {});
  };

  while (rows_.MayRead(task.user, true)) read(true);
  EXPECT_EQ(items.size(), workers::kMaxLoose / 4);
  while (rows_.MayRead(task.user, false)) read(false);  // of other datasets
  EXPECT_EQ(items.size(), workers::kMaxLoose / 2);
  EXPECT_TRUE(rows_.MayRead(other, true));

  End(items.back(), OutcomeKind::kSourceFailed);
  EXPECT_TRUE(rows_.MayRead(task.user, false));
  while (items.size() > 1) items.pop_back(), End(items.back(), OutcomeKind::kSourceFailed);
  EXPECT_TRUE(rows_.MayRead(task.user, true));
  EXPECT_EQ(rows_.in_flight(), 0u);
}

TEST_F(RowItemsTest, WhatNobodyWantsAnyMoreIsLeftBehindWhileItsReadIsOut) {
  const workers::WorkItem item = Begin();
  EXPECT_TRUE(rows_.LeftBehind(task_.user, core_).empty());

  core_.CloseSession(kSession);

  EXPECT_THAT(rows_.LeftBehind(task_.user, core_), ::testing::ElementsAre(task_.slot));
  EXPECT_TRUE(rows_.LeftBehind(UserId(77), core_).empty());
  End(item, OutcomeKind::kLost);
  EXPECT_TRUE(rows_.LeftBehind(task_.user, core_).empty());
}

// Another feed of the dataset may require less.
TEST_F(RowItemsTest, SamplesThatLackWhatIsAskedForFailTheFeedAndLeaveTheDatasetAlone) {
  absl::Status failed;
  for (int i = 0; i < 1000 && failed.ok(); ++i)
    failed = End(Begin(), OutcomeKind::kRefused, Fault::kTooLong).feed_failed;

  EXPECT_TRUE(absl::IsDataLoss(failed));
  EXPECT_THAT(std::string(failed.message()),
              ::testing::AllOf(::testing::HasSubstr("a field is too long"),
                               ::testing::HasSubstr("request a greater length")));
  EXPECT_EQ(dataset().PolicyOf(task_.user.value()).bad_samples(), 0u);
  EXPECT_EQ(dataset().quarantine.refused(), 0u);
}

TEST_F(RowItemsTest, AnItemSaysTheSampleAndWhereItsRowIs) {
  Begin();
  const workers::WorkItem item = Begin();

  const pool::SlotPlace place = pool_.Place(task_.slot.value());
  EXPECT_EQ(item.sample, 1u);
  EXPECT_EQ(item.key.sample, 1u);
  EXPECT_EQ(item.key.seed, 3u);
  EXPECT_EQ(item.segment, place.segment.value());
  EXPECT_EQ(item.row_offset, place.offset + decode::RowBytes(spec()));
}

TEST_F(RowItemsTest, ADecodedRowGetsItsLabelAndIdBesideIt) {
  std::vector<workers::WorkItem> items;
  for (uint32_t row = 0; row < kRows; ++row) items.push_back(Begin());

  for (const workers::WorkItem& item : items) End(item, OutcomeKind::kDone);

  const pool::SlotPlace place = pool_.Place(task_.slot.value());
  for (uint64_t row = 0; row < kRows; ++row) {
    int64_t label;
    uint64_t id;
    std::memcpy(&label, place.data + place.layout.labels_offset + 8 * row, sizeof(label));
    std::memcpy(&id, place.data + place.layout.ids_offset + 8 * row, sizeof(id));
    EXPECT_EQ(label, static_cast<int64_t>(row % 10));
    EXPECT_EQ(id, row);
  }
  EXPECT_EQ(rows_.decoded(), kRows);
  EXPECT_EQ(core_.TakeAnnouncements().size(), 1u);
}

TEST_F(RowItemsTest, ALostItemIsTheSameOnceMore) {
  const workers::WorkItem lost = Begin();

  const FillOutcome trouble = End(lost, OutcomeKind::kLost);

  EXPECT_TRUE(trouble.bad_sample.ok());
  EXPECT_EQ(Begin().sample, lost.sample);
  EXPECT_EQ(dataset().PolicyOf(task_.user.value()).bad_samples(), 0u);
}

TEST_F(RowItemsTest, ARefusedSampleIsReplacedByItsStandInAndReported) {
  const workers::WorkItem refused = Begin();

  const FillOutcome trouble = End(refused, OutcomeKind::kRefused, Fault::kTruncated);

  EXPECT_EQ(trouble.bad_sample.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(trouble.bad_sample.message()),
              ::testing::AllOf(::testing::HasSubstr("sample 0 of 'flowers' (/fake/0)"),
                               ::testing::HasSubstr("truncated")));
  EXPECT_FALSE(trouble.quarantine_grew);
  EXPECT_TRUE(trouble.feed_failed.ok());
  EXPECT_EQ(Begin().sample, plan::SubstituteFor(kSamples, 3, 0, 0, 1));
  ASSERT_EQ(dataset().quarantine.Entries().size(), 1u);
  EXPECT_EQ(dataset().quarantine.version(), 0u);
  EXPECT_EQ(rows_.replaced(), 1u);
}

TEST_F(RowItemsTest, TheFirstStrikeIsForgivenWhenTheSecondTryIsDecoded) {
  const workers::WorkItem first = Begin();

  const FillOutcome trouble = End(first, OutcomeKind::kStrike, Fault::kWorkerCrashed);
  const workers::WorkItem second = Begin();
  End(second, OutcomeKind::kDone);

  EXPECT_TRUE(trouble.bad_sample.ok());
  EXPECT_EQ(second.sample, first.sample);
  EXPECT_EQ(dataset().PolicyOf(task_.user.value()).OnStrike(first.sample), Verdict::kRetry);
  EXPECT_TRUE(dataset().quarantine.Entries().empty());
}

TEST_F(RowItemsTest, TheSecondStrikeQuarantinesAndTheRowPassesTheSampleOver) {
  const workers::WorkItem first = Begin();
  End(first, OutcomeKind::kStrike, Fault::kTimeout);

  const FillOutcome trouble = End(Begin(), OutcomeKind::kStrike, Fault::kTimeout);

  EXPECT_TRUE(trouble.quarantine_grew);
  EXPECT_THAT(std::string(trouble.bad_sample.message()), ::testing::HasSubstr("sample 0"));
  EXPECT_TRUE(dataset().quarantine.Contains(first.sample));
  EXPECT_EQ(dataset().quarantine.version(), 1u);
  EXPECT_EQ(Begin().sample, plan::SubstituteFor(kSamples, 3, 0, 0, 1));
  EXPECT_EQ(task_.attempt, 0u);
}

// The user's worker may be compromised and lie.
TEST_F(RowItemsTest, WhatAUsersWorkersDieOverIsNeitherReplacedNorCountedForAnotherUser) {
  const workers::WorkItem first = Begin();
  End(first, OutcomeKind::kStrike, Fault::kTimeout);
  End(Begin(), OutcomeKind::kStrike, Fault::kTimeout);

  RowTask of_another = task_;
  of_another.user = UserId(task_.user.value() + 1);

  EXPECT_NE(SampleFor(*feed_, task_), first.sample);
  EXPECT_EQ(SampleFor(*feed_, of_another), first.sample);
  EXPECT_EQ(dataset().PolicyOf(task_.user.value()).bad_samples(), 1u);
  EXPECT_EQ(dataset().PolicyOf(of_another.user.value()).bad_samples(), 0u);
}

TEST_F(RowItemsTest, ASampleThatAFullQuarantineCannotHoldIsReplacedAllTheSame) {
  for (uint64_t i = 0; i < source::Quarantine::kMaxQuarantined; ++i)
    dataset().quarantine.Add(Crashed(kSamples + i));
  const workers::WorkItem first = Begin();
  End(first, OutcomeKind::kStrike, Fault::kWorkerCrashed);

  End(Begin(), OutcomeKind::kStrike, Fault::kWorkerCrashed);

  EXPECT_EQ(Begin().sample, plan::SubstituteFor(kSamples, 3, 0, 0, 1));
}

TEST_F(RowItemsTest, MoreBadSamplesThanAllowedFailTheFeed) {
  for (uint64_t bad = 0; bad < 10; ++bad)
    EXPECT_TRUE(End(Begin(), OutcomeKind::kRefused, Fault::kCorrupt).feed_failed.ok());

  const FillOutcome trouble = End(Begin(), OutcomeKind::kRefused, Fault::kCorrupt);

  EXPECT_EQ(trouble.feed_failed.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(trouble.feed, feed_);
}

// The order has nothing that could replace the sample, so the trainer must hear of it.
TEST_F(RowItemsTest, AnOrderOfOnlyBadSamplesFailsTheFeed) {
  plan::GivenOrderBuilder order(2);
  EXPECT_TRUE(order.Add(std::vector<uint64_t>{5, 5}).ok());
  feed_->spec.given = std::make_shared<const plan::GivenOrder>(order.Finish().value());
  for (int tries = 0; tries <= 32; ++tries)
    EXPECT_TRUE(End(Begin(), OutcomeKind::kRefused, Fault::kCorrupt).feed_failed.ok());

  task_ = core_.NextRow().value();
  const auto item = rows_.Begin(task_, feed_, pool_.Place(task_.slot.value()));

  EXPECT_TRUE(absl::IsDataLoss(item.status()));
  EXPECT_THAT(std::string(item.status().message()),
              ::testing::AllOf(::testing::HasSubstr("sample 5 of"),
                               ::testing::HasSubstr("32 substitutes drawn from the 2 samples")));
}

// The caller decides whether and when to retry, so the row stays given out.
TEST_F(RowItemsTest, ARowThatCannotBeReadIsTheCallersAffairAndNoSamplesFault) {
  const absl::Status gone = absl::UnavailableError("/fake/0: gone");
  const workers::WorkItem item = Begin();

  const FillOutcome trouble = End(item, OutcomeKind::kSourceFailed, Fault::kNone, gone);

  EXPECT_TRUE(trouble.feed_failed.ok());
  EXPECT_TRUE(trouble.bad_sample.ok());
  EXPECT_TRUE(core_.IsWanted(trouble.task));
  EXPECT_NE(Begin().id, item.id);
  EXPECT_TRUE(dataset().quarantine.Entries().empty());
}

TEST_F(RowItemsTest, ItemsThatEndAfterTheirSessionTouchNothing) {
  const workers::WorkItem done = Begin(), refused = Begin(), struck = Begin();
  core_.CloseSession(kSession);

  End(done, OutcomeKind::kDone);
  End(refused, OutcomeKind::kRefused, Fault::kCorrupt);
  End(struck, OutcomeKind::kStrike, Fault::kTimeout);

  EXPECT_EQ(rows_.in_flight(), 0u);
  EXPECT_EQ(core_.CountAll().filling, 0u);
  EXPECT_FALSE(core_.NextRow().has_value());
}

// ---- The chosen sample. ----

class SampleForTest : public RowItemsTest {};

TEST_F(SampleForTest, AttemptsAtQuarantinedSamplesArePassedOverAndNotCounted) {
  const uint64_t first = plan::SubstituteFor(kSamples, 3, 0, 0, 1);
  const uint64_t second = plan::SubstituteFor(kSamples, 3, 0, 0, 2);
  const uint64_t third = plan::SubstituteFor(kSamples, 3, 0, 0, 3);
  ASSERT_TRUE(first != second && second != third && first != third);
  dataset().quarantine.Add(Crashed(first));

  EXPECT_EQ(SampleFor(*feed_, {.attempt = 0}), 0u);
  EXPECT_EQ(SampleFor(*feed_, {.attempt = 1}), second);
  EXPECT_EQ(SampleFor(*feed_, {.attempt = 2}), third);
}

TEST_F(SampleForTest, StandInsDependOnTheEpochAndTheSampleAlone) {
  const RowTask task{.epoch = 5, .index = 17, .attempt = 1};

  EXPECT_EQ(SampleFor(*feed_, task), plan::SubstituteFor(kSamples, 3, 5, 17, 1));
}

// ---- Samples on which a consumer's GPU failed. ----

TEST_F(RowItemsTest, WhatAUsersGpuFailedOnIsForWorkersInUndecodedFeedsOfThatUser) {
  feed_->spec.decoding.undecoded = {.place_bytes = 4096, .share = 99, .decoder = 1};
  const uint64_t sample = Begin().sample;
  const UserId user = task_.user, other(task_.user.value() + 1);

  EXPECT_TRUE(rows_.RecordNotByGpu(feed_->dataset, sample, user));
  EXPECT_FALSE(rows_.RecordNotByGpu(feed_->dataset, sample, user));

  RowTask task = task_;
  const auto share = [&] {
    const auto item = rows_.Begin(task, feed_, pool_.Place(task.slot.value()));
    EXPECT_EQ(item->sample, sample);
    return item->spec.undecoded.share;
  };
  EXPECT_EQ(share(), 0u);
  task.user = other;
  EXPECT_EQ(share(), 99u);
  task.user = user;
  feed_->spec.decoding.undecoded = {};
  EXPECT_EQ(rows_.Begin(task, feed_, pool_.Place(task.slot.value()))->spec, feed_->spec.decoding);
  EXPECT_EQ(dataset().PolicyOf(user.value()).bad_samples(), 0u);
  EXPECT_EQ(rows_.replaced(), 0u);
}

TEST_F(RowItemsTest, WhatAWorkerThenRefusesCountsAndIsReportedAsUsual) {
  const workers::WorkItem item = Begin();
  rows_.RecordNotByGpu(feed_->dataset, item.sample, task_.user);

  const FillOutcome refused = End(item, OutcomeKind::kRefused, Fault::kTruncated);

  EXPECT_THAT(std::string(refused.bad_sample.message()), ::testing::HasSubstr("truncated"));
  EXPECT_EQ(dataset().PolicyOf(task_.user.value()).bad_samples(), 1u);
  ASSERT_EQ(dataset().quarantine.Entries().size(), 1u);
  EXPECT_EQ(dataset().quarantine.Entries()[0].fault, Fault::kTruncated);
  EXPECT_TRUE(dataset().quarantine.IsForWorkers(item.sample, task_.user.value()));
}

}  // namespace
}  // namespace penstock::feed
