#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "server/plan/plan.h"

namespace penstock::plan {
namespace {

using ::testing::HasSubstr;

Share ShareOf(uint64_t samples, uint64_t consumed, uint32_t world, uint32_t batch_size,
              Remainder remainder) {
  Share share;
  share.samples = samples;
  share.consumed = consumed;
  share.world = world;
  share.batch_size = batch_size;
  share.remainder = remainder;
  return share;
}

Share OfRank(Share share, uint32_t rank) {
  share.rank = rank;
  return share;
}

std::string Refusal(const Share& share) { return std::string(Validate(share).message()); }

// The indices that all ranks get, ordered by step and then rank, without padding.
std::vector<uint64_t> Union(const Share& share) {
  std::vector<uint64_t> indices;
  for (uint64_t step = 0;; ++step) {
    bool any = false;
    for (uint32_t rank = 0; rank < share.world; ++rank) {
      const Share mine = OfRank(share, rank);
      if (step >= BatchCount(mine)) continue;
      any = true;
      const Batch batch = BatchAt(mine, step);
      for (uint32_t row = 0; row < batch.valid_rows; ++row) indices.push_back(batch.first + row);
    }
    if (!any) return indices;
  }
}

std::vector<uint64_t> Range(uint64_t from, uint64_t to) {
  std::vector<uint64_t> range;
  for (uint64_t i = from; i < to; ++i) range.push_back(i);
  return range;
}

constexpr Remainder kAll[] = {Remainder::kDrop, Remainder::kPadBatch, Remainder::kPartial,
                              Remainder::kPadRanks};

TEST(ShareTest, NumbersThatCannotBeAreRefusedWithWhatWouldBePossible) {
  const Share good = ShareOf(100, 0, 4, 8, Remainder::kPadBatch);
  Share share = good;
  EXPECT_TRUE(Validate(share).ok());

  share.samples = 0;
  EXPECT_THAT(Refusal(share), HasSubstr("0 samples; it must have 1 to"));
  share = good;
  share.samples = kMaxSamples + 1;
  EXPECT_THAT(Refusal(share), HasSubstr("it must have 1 to 4611686018427387904"));
  share = good;
  share.consumed = 101;
  EXPECT_THAT(Refusal(share), HasSubstr("101 samples of the epoch are consumed, but it has 100"));
  share = good;
  share.batch_size = 0;
  EXPECT_THAT(Refusal(share), HasSubstr("batch size is 0"));
  share = good;
  share.world = 0;
  EXPECT_THAT(Refusal(share), HasSubstr("0 ranks"));
  share = good;
  share.rank = 4;
  EXPECT_THAT(Refusal(share), HasSubstr("rank 4 is not in a world of 4; ranks are 0 to 3"));
  share = good;
  share.world = share.batch_size = UINT32_MAX;
  EXPECT_THAT(Refusal(share), HasSubstr("use smaller batches"));
  share = good;
  share.remainder = static_cast<Remainder>(4);
  EXPECT_THAT(Refusal(share), HasSubstr("remainder 4 is unknown"));
  EXPECT_EQ(Validate(share).code(), absl::StatusCode::kInvalidArgument);
}

TEST(ShareDeathTest, AStepBeyondTheEpochIsOurBug) {
  EXPECT_DEATH(BatchAt(ShareOf(10, 0, 1, 5, Remainder::kPadBatch), 2), "step");
}

TEST(ShareTest, DropGivesFullBatchesAlone) {
  const Share share = ShareOf(107, 0, 2, 10, Remainder::kDrop);

  EXPECT_EQ(BatchCount(share), 5u);
  EXPECT_EQ(Union(share), Range(0, 100));
}

TEST(ShareTest, DropGivesNothingWhereTheRanksTakeMoreThanIsLeft) {
  EXPECT_EQ(BatchCount(ShareOf(100, 0, 11, 10, Remainder::kDrop)), 0u);
  EXPECT_EQ(BatchCount(ShareOf(100, 81, 2, 10, Remainder::kDrop)), 0u);
}

TEST(ShareTest, PadFillsTheLastBatchesFromBeyondTheEnd) {
  const Share share = ShareOf(25, 0, 2, 10, Remainder::kPadBatch);

  const Batch first_rank = BatchAt(OfRank(share, 0), 1), second_rank = BatchAt(OfRank(share, 1), 1);

  EXPECT_EQ(first_rank.first, 20u);
  EXPECT_EQ(first_rank.rows, 10u);
  EXPECT_EQ(first_rank.valid_rows, 5u);
  EXPECT_EQ(second_rank.first, 30u);
  EXPECT_EQ(second_rank.rows, 10u);
  EXPECT_EQ(second_rank.valid_rows, 0u);
  EXPECT_EQ(first_rank.consumed, 25u);
  EXPECT_EQ(second_rank.consumed, 25u);
}

TEST(ShareTest, PartialShortensTheLastBatchOrLeavesItOut) {
  const Share share = ShareOf(25, 0, 2, 10, Remainder::kPartial);

  EXPECT_EQ(BatchCount(OfRank(share, 0)), 2u);
  EXPECT_EQ(BatchCount(OfRank(share, 1)), 1u);
  const Batch last = BatchAt(OfRank(share, 0), 1);
  EXPECT_EQ(last.rows, 5u);
  EXPECT_EQ(last.valid_rows, 5u);
  EXPECT_EQ(last.consumed, 25u);
}

TEST(ShareTest, AnEpochThatIsConsumedHasNoBatchLeft) {
  for (Remainder remainder : kAll) {
    EXPECT_EQ(BatchCount(ShareOf(64, 64, 2, 8, remainder)), 0u);
  }
}

TEST(ShareTest, TheLargestNumbersDoNotOverflow) {
  Share share = ShareOf(kMaxSamples, kMaxSamples - 1, UINT32_MAX, 1u << 30, Remainder::kPadBatch);
  share.rank = share.world - 1;
  ASSERT_TRUE(Validate(share).ok());

  ASSERT_EQ(BatchCount(share), 1u);
  const Batch batch = BatchAt(share, 0);

  EXPECT_GT(batch.first, kMaxSamples);
  EXPECT_EQ(batch.valid_rows, 0u);
  EXPECT_EQ(batch.consumed, kMaxSamples);
}

// Random shares of random epochs.
class ShareProperty : public ::testing::TestWithParam<Remainder> {
 protected:
  Share Random() {
    const auto pick = [this](uint64_t low, uint64_t high) {
      return std::uniform_int_distribution<uint64_t>(low, high)(random_);
    };
    const uint64_t samples = pick(1, 500);
    return ShareOf(samples, pick(0, samples), static_cast<uint32_t>(pick(1, 9)),
                   static_cast<uint32_t>(pick(1, 40)), GetParam());
  }

  std::mt19937_64 random_{20261121};
};

TEST_P(ShareProperty, AnyWorldAndBatchSizeGiveTheSameSequenceFromAnyStart) {
  for (int i = 0; i < 2000; ++i) {
    const Share share = Random();
    const std::vector<uint64_t> seen = Union(share);

    // Every index from c₀ on, in order and once each; `drop` may omit the end.
    ASSERT_EQ(seen, Range(share.consumed, share.consumed + seen.size()));
    if (GetParam() == Remainder::kDrop) {
      ASSERT_LT(share.samples - share.consumed - seen.size(), share.world * share.batch_size);
    } else {
      ASSERT_EQ(share.consumed + seen.size(), share.samples);
    }
  }
}

TEST_P(ShareProperty, ConsumedIsWhereTheNextStepBegins) {
  for (int i = 0; i < 500; ++i) {
    Share share = Random();
    for (uint64_t step = 0; step < BatchCount(share); ++step) {
      Share resumed = share;
      resumed.consumed = BatchAt(share, step).consumed;
      if (step + 1 == BatchCount(share)) {
        ASSERT_EQ(BatchCount(resumed), 0u);
      } else {
        ASSERT_EQ(BatchAt(resumed, 0).first, BatchAt(share, step + 1).first);
      }
    }
  }
}

TEST_P(ShareProperty, ResumedUnderAnotherWorldTheSequenceGoesOn) {
  for (int i = 0; i < 1000; ++i) {
    const Share before = Random();
    if (BatchCount(before) == 0) continue;
    const uint64_t steps = 1 + random_() % BatchCount(before);
    Share after = before;
    after.consumed = BatchAt(before, steps - 1).consumed;
    after.world = before.world % 9 + 1;
    after.batch_size = before.batch_size % 40 + 1;

    const std::vector<uint64_t> rest = Union(after);

    ASSERT_EQ(rest, Range(after.consumed, after.consumed + rest.size()));
  }
}

TEST_P(ShareProperty, AllButPartialGiveEveryRankEquallyMany) {
  for (int i = 0; i < 1000; ++i) {
    const Share share = Random();
    uint64_t fewest = UINT64_MAX, most = 0;
    for (uint32_t rank = 0; rank < share.world; ++rank) {
      fewest = std::min(fewest, BatchCount(OfRank(share, rank)));
      most = std::max(most, BatchCount(OfRank(share, rank)));
    }
    ASSERT_LE(most - fewest, GetParam() == Remainder::kPartial ? 1u : 0u);
  }
}

TEST_P(ShareProperty, RowsAreTheBatchSizeUnlessTheLastIsShort) {
  for (int i = 0; i < 500; ++i) {
    const Share share = Random();
    for (uint64_t step = 0; step < BatchCount(share); ++step) {
      const Batch batch = BatchAt(share, step);
      ASSERT_GE(batch.rows, 1u);
      ASSERT_LE(batch.valid_rows, batch.rows);
      ASSERT_LE(batch.rows, share.batch_size);
      const bool full = GetParam() == Remainder::kDrop || GetParam() == Remainder::kPadBatch;
      if (full || step + 1 < BatchCount(share)) {
        ASSERT_EQ(batch.rows, share.batch_size);
      }
      const bool pads = GetParam() == Remainder::kPadBatch || GetParam() == Remainder::kPadRanks;
      if (!pads || step + 1 < BatchCount(share)) {
        ASSERT_EQ(batch.valid_rows, batch.rows);
      }
    }
  }
}

std::string NameOf(const ::testing::TestParamInfo<Remainder>& info) {
  const char* names[] = {"Drop", "PadBatch", "Partial", "PadRanks"};
  return names[static_cast<uint32_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Every, ShareProperty, ::testing::ValuesIn(kAll), NameOf);

}  // namespace
}  // namespace penstock::plan
