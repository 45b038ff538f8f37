// A session's batches from epoch to epoch.
#include <algorithm>
#include <chrono>

#include "tests/unit/feed/core/harness.h"

namespace penstock::feed {
namespace {

using ::testing::ElementsAre;

class EpochsTest : public ::testing::Test {
 protected:
  EpochsTest() { harness_.AddSlots(64); }

  // Consumes all batches that arrive, at most `most`.
  const std::vector<Announcement>& Run(SessionId session, uint64_t most = 100) {
    for (harness_.Decode(); harness_.announced[session].size() < most; harness_.Decode()) {
      if (harness_.core.View(session)->taken == harness_.announced[session].size()) break;
      harness_.Consume(session);
    }
    return harness_.announced[session];
  }

  Harness harness_;
};

TEST_F(EpochsTest, TheWindowRunsAcrossTheEndOfAnEpoch) {
  const SessionId session = harness_.Open(1, Harness::Spec(6, 2, 5));

  harness_.Decode();

  const std::vector<Announcement>& announced = harness_.announced[session];
  ASSERT_EQ(announced.size(), 5u);
  EXPECT_THAT(harness_.FirstsSent(session), ElementsAre(0, 2, 4, 0, 2));
  EXPECT_EQ(announced[2].position.epoch, 0u);
  EXPECT_TRUE(announced[2].last_of_epoch);
  EXPECT_EQ(announced[3].position.epoch, 1u);
  EXPECT_EQ(announced[3].step, 0u);
  EXPECT_FALSE(announced[3].last_of_epoch);
}

TEST_F(EpochsTest, EveryAnnouncementSaysWhatTheStateIsAfterIt) {
  SessionSpec spec = Harness::Spec(11, 2);
  spec.share.world = 2;
  spec.share.rank = 1;
  spec.share.consumed = 1;
  spec.share.remainder = plan::Remainder::kPadBatch;
  spec.first_epoch = 5;
  spec.epochs = 1;
  const SessionId session = harness_.Open(1, spec);

  const std::vector<Announcement>& announced = Run(session);

  ASSERT_EQ(announced.size(), 3u);
  EXPECT_THAT(harness_.FirstsSent(session), ElementsAre(3, 7, 11));
  EXPECT_EQ(announced[0].sequence, 1u);
  EXPECT_EQ(announced[0].consumed, 5u);
  EXPECT_EQ(announced[2].consumed, 11u);
  EXPECT_EQ(announced[2].position.rows, 2u);
  EXPECT_EQ(announced[2].valid_rows, 0u);
  EXPECT_EQ(announced[2].step, 2u);
  EXPECT_TRUE(announced[2].last_of_epoch);
}

TEST_F(EpochsTest, PaddingIsWhatIsBeyondTheEpochsLastSample) {
  SessionSpec spec = Harness::Spec(3, 5);
  spec.share.remainder = plan::Remainder::kPadBatch;
  harness_.Open(1, spec);

  std::vector<uint64_t> indices;
  for (int row = 0; row < 5; ++row) indices.push_back(harness_.Give().index);

  EXPECT_THAT(indices, ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(EpochsTest, AShortLastBatchHasFewerRows) {
  SessionSpec spec = Harness::Spec(5, 4);
  spec.epochs = 1;
  const SessionId session = harness_.Open(1, spec);

  EXPECT_EQ(harness_.Decode(), 5u);

  EXPECT_EQ(harness_.announced[session].back().position.rows, 1u);
  EXPECT_EQ(harness_.announced[session].back().valid_rows, 1u);
}

TEST_F(EpochsTest, ASessionIsFinishedWhenItsLastBatchIsAnnounced) {
  SessionSpec spec = Harness::Spec(4, 2, 8);
  spec.epochs = 2;
  const SessionId session = harness_.Open(1, spec);
  harness_.Decode(7);
  EXPECT_FALSE(harness_.core.View(session)->finished);

  harness_.Decode(1);

  EXPECT_TRUE(harness_.core.View(session)->finished);
  EXPECT_EQ(harness_.announced[session].size(), 4u);
}

TEST_F(EpochsTest, ResumedAtItsVeryEndASessionIsFinishedAtOnce) {
  SessionSpec spec = Harness::Spec(4, 2);
  spec.share.consumed = 4;
  spec.first_epoch = 89;
  spec.epochs = 1;
  const SessionId session = harness_.Open(1, spec);

  EXPECT_TRUE(harness_.core.View(session)->finished);
  EXPECT_EQ(harness_.Decode(), 0u);
}

TEST_F(EpochsTest, ARankWithoutABatchInTheRestOfAnEpochGoesOnToTheNext) {
  SessionSpec spec = Harness::Spec(8, 2);
  spec.share.world = 4;
  spec.share.rank = 3;
  spec.share.consumed = 5;
  const SessionId session = harness_.Open(1, spec);

  harness_.Decode();

  EXPECT_EQ(harness_.announced[session].front().position, (plan::Position{1, 6, 2}));
}

TEST_F(EpochsTest, RanksOfDifferentWorldsMeetInTheSameSlot) {
  SessionSpec alone = Harness::Spec(100, 2, 8), second_of_two = Harness::Spec(100, 2, 4);
  second_of_two.share.world = 2;
  second_of_two.share.rank = 1;
  const SessionId a = harness_.Open(1, alone), b = harness_.Open(2, second_of_two);

  EXPECT_EQ(harness_.Decode(), 16u);

  EXPECT_EQ(harness_.announced[a][1].slot, harness_.announced[b][0].slot);
  EXPECT_EQ(harness_.announced[a][1].position, harness_.announced[b][0].position);
  EXPECT_EQ(harness_.core.View(kFeed)->batches_decoded, 8u);
  EXPECT_EQ(harness_.core.View(kFeed)->batches_announced, 12u);
}

// The time from opening to the first window's last row. Takes the minimum of many runs, because
// other load can only add time.
std::chrono::nanoseconds TimeToResumeAt(uint64_t consumed) {
  constexpr uint64_t kSamples = 1'000'000'000;
  auto least = std::chrono::nanoseconds::max();
  uint64_t sum = 0;
  for (int run = 0; run < 200; ++run) {
    Harness harness;
    harness.AddSlots(4);
    SessionSpec spec = Harness::Spec(kSamples, 32, 4);
    spec.share.consumed = consumed;
    const auto begin = std::chrono::steady_clock::now();
    harness.Open(1, spec);
    while (const std::optional<RowTask> task = harness.core.NextRow()) {
      sum += plan::SampleAt(plan::Order::kShuffled, kSamples, 7, task->epoch, task->index);
      harness.core.RowDone(*task);
    }
    least = std::min<std::chrono::nanoseconds>(least, std::chrono::steady_clock::now() - begin);
  }
  EXPECT_NE(sum, 0u);
  return least;
}

TEST(ResumeTest, AnywhereInABillionSamplesItTakesAsLongAsAtTheStart) {
  const auto at_start = TimeToResumeAt(0);

  for (uint64_t consumed : {500'000'000u, 999'999'000u})
    EXPECT_LT(TimeToResumeAt(consumed).count(), 2 * at_start.count()) << consumed;
}

}  // namespace
}  // namespace penstock::feed
