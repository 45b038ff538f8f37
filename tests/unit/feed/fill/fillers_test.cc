// The parts that differ between fill paths. row_dispatch_test.cc tests what they share.
#include <cstring>

#include "server/feed/fill/nobody_filler.h"
#include "server/feed/fill/worker_filler.h"
#include "tests/unit/feed/session_rig.h"

namespace penstock::feed {
namespace {

using ::testing::HasSubstr;

class FillersTest : public SessionRig {
 protected:
  FillersTest() { Open(kPeer, feed_); }
  FillJob Next() {
    const RowTask task = core_.NextRow().value();
    return {.task = task, .feed = feed_, .place = &pool_.Place(task.slot.value()), .given = now_};
  }

  const std::shared_ptr<Feed> feed_ = MakeFeed();
  workers::Supervisor workers_{{.count = 0}};
  static constexpr WorkerLosses::Options kLosses = {
      .budget = {.restarts = 3, .window = std::chrono::minutes(1)},
      .back_off = {.first = std::chrono::seconds(1), .longest = std::chrono::seconds(10)}};
  WorkerFiller worker_filler_{workers_, core_, pool_, kLosses,
                              [](uint64_t, const absl::Status&) {}};
};

TEST_F(FillersTest, RowsThatNobodyFillsAreDoneWithTheirLabelsAndIds) {
  NobodyFiller nobody;
  Next();
  const FillJob job = Next();
  uint64_t id = 99;
  int64_t label = 99;

  const std::optional<FillOutcome> ended = nobody.Begin(job);

  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->end, FillEnd::kDone);
  EXPECT_FALSE(ended->times.has_value());
  std::memcpy(&id, job.place->data + job.place->layout.ids_offset + sizeof(id), sizeof(id));
  std::memcpy(&label, job.place->data + job.place->layout.labels_offset + sizeof(label),
              sizeof(label));
  EXPECT_EQ(id, 1u);
  EXPECT_EQ(label, 1);
}

TEST_F(FillersTest, WhereNoSampleStandsInTheFeedFailsAndTheRowGoesBack) {
  for (uint64_t sample = 0; sample < kSamples; ++sample)
    dataset_->quarantine.Add({.sample = sample, .path = "", .fault = base::Fault::kWorkerCrashed});

  const std::optional<FillOutcome> ended = worker_filler_.Begin(Next());

  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->end, FillEnd::kLost);
  EXPECT_FALSE(ended->read.has_value()) << "the source was not asked";
  EXPECT_THAT(std::string(ended->feed_failed.message()), HasSubstr("substitutes"));
}

TEST_F(FillersTest, WithoutAWorkerSlotItIsNobodysTurnYet) {
  EXPECT_EQ(worker_filler_.TurnOf(UserId(1000)), Turn::kLater);
}

TEST_F(FillersTest, AUserWhoseWorkersDiedPausesAndOthersDoNot) {
  WorkerLosses& losses = worker_filler_.losses();
  now_ += std::chrono::seconds(100);
  feed_->account = losses.AccountOf("flowers", 1000, now_);
  const auto other = MakeFeed();
  other->account = losses.AccountOf("flowers", 2000, now_);

  EXPECT_FALSE(worker_filler_.HoldsBack(now_));
  losses.Died(feed_->account, "killed", now_).IgnoreError();

  EXPECT_TRUE(worker_filler_.HoldsBack(now_));
  EXPECT_FALSE(worker_filler_.MayRead(UserId(1000), *feed_, false, now_));
  EXPECT_TRUE(worker_filler_.MayRead(UserId(2000), *other, false, now_));
}

}  // namespace
}  // namespace penstock::feed
