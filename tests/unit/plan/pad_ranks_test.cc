// Equal padding of ranks, compared with a model that deals samples out one by one and with the
// arithmetic of torch's DistributedSampler.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "server/plan/plan.h"

namespace penstock::plan {
namespace {

Share ShareOf(uint64_t samples, uint64_t consumed, uint32_t world, uint32_t batch_size) {
  return {.samples = samples,
          .consumed = consumed,
          .world = world,
          .batch_size = batch_size,
          .remainder = Remainder::kPadRanks};
}

// One row of a rank: its index, and whether it is data rather than padding.
struct Row {
  uint64_t index = 0;
  bool valid = true;
  bool operator==(const Row&) const = default;
};
using Batches = std::vector<std::vector<Row>>;

Batches TakenBy(Share share, uint32_t rank) {
  share.rank = rank;
  Batches batches;
  for (uint64_t step = 0; step < BatchCount(share); ++step) {
    const Batch batch = BatchAt(share, step);
    std::vector<Row>& rows = batches.emplace_back();
    for (uint32_t row = 0; row < batch.rows; ++row)
      rows.push_back({(batch.first + row) % share.samples, row < batch.valid_rows});
  }
  return batches;
}

// The model: pads the remaining samples with the epoch's first ones until they divide evenly among
// the ranks. Each step then deals every rank in turn a batch, or an equal part of what remains.
std::vector<Batches> Model(const Share& share) {
  std::vector<Row> left;
  for (uint64_t i = share.consumed; i < share.samples; ++i) left.push_back({i, true});
  for (uint64_t i = 0; left.size() % share.world != 0; ++i)
    left.push_back({i % share.samples, false});
  std::vector<Batches> ranks(share.world);
  size_t at = 0;
  while (at < left.size()) {
    const size_t rows = std::min<size_t>(share.batch_size, (left.size() - at) / share.world);
    for (Batches& rank : ranks) {
      rank.emplace_back(left.begin() + at, left.begin() + at + rows);
      at += rows;
    }
  }
  return ranks;
}

// DistributedSampler's num_samples with drop_last=False, in its own floating-point arithmetic.
uint64_t TorchsNumSamples(uint64_t samples, uint32_t world) {
  return static_cast<uint64_t>(std::ceil(static_cast<double>(samples) / world));
}

class PadRanks : public ::testing::Test {
 protected:
  uint64_t Pick(uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(random_);
  }
  Share Random() {
    const uint64_t samples = Pick(1, Pick(0, 4) == 0 ? 12 : 400);
    const uint64_t consumed = Pick(0, 1) == 0 ? 0 : Pick(0, samples);
    return ShareOf(samples, consumed, static_cast<uint32_t>(Pick(1, 17)),
                   static_cast<uint32_t>(Pick(1, 40)));
  }

  std::mt19937_64 random_{14};
};

TEST_F(PadRanks, FortySamplesOfTwoRanksInBatchesOfSixteenAreTwentyEach) {
  for (uint32_t rank = 0; rank < 2; ++rank) {
    Share share = ShareOf(40, 0, 2, 16);
    share.rank = rank;
    ASSERT_EQ(BatchCount(share), 2u);
    EXPECT_EQ(BatchAt(share, 0).rows, 16u);
    const Batch last = BatchAt(share, 1);
    EXPECT_EQ(last.first, 32u + 4 * rank);
    EXPECT_EQ(last.rows, 4u);
    EXPECT_EQ(last.valid_rows, 4u);
    EXPECT_EQ(last.consumed, 40u);
  }
}

TEST_F(PadRanks, WhatIsMissingIsTakenFromTheEpochsFirstSamplesAndIsNotValid) {
  Share share = ShareOf(5, 0, 4, 8);  // two rows per rank; both of the last rank's are padding
  share.rank = 3;

  const Batch last = BatchAt(share, 0);

  EXPECT_EQ(last.first, 6u);
  EXPECT_EQ(last.rows, 2u);
  EXPECT_EQ(last.valid_rows, 0u);
  EXPECT_EQ(last.consumed, 5u);
}

TEST_F(PadRanks, EveryRankTakesWhatTheModelDealsIt) {
  for (int i = 0; i < 1500; ++i) {
    const Share share = Random();
    const std::vector<Batches> model = Model(share);
    for (uint32_t rank = 0; rank < share.world; ++rank)
      ASSERT_EQ(TakenBy(share, rank), model[rank])
          << share.samples << " samples, " << share.consumed << " consumed, rank " << rank << " of "
          << share.world << ", batches of " << share.batch_size;
  }
}

TEST_F(PadRanks, AnEpochHasAsManySamplesARankAndInAllAsTorchsDistributedSampler) {
  for (int i = 0; i < 1500; ++i) {
    Share share = Random();
    share.consumed = 0;
    const uint64_t each = TorchsNumSamples(share.samples, share.world);
    std::vector<uint64_t> often(share.samples);
    for (uint32_t rank = 0; rank < share.world; ++rank) {
      uint64_t rows = 0;
      for (const std::vector<Row>& batch : TakenBy(share, rank)) {
        rows += batch.size();
        for (const Row& row : batch) ++often[row.index];
      }
      ASSERT_EQ(rows, each);
    }
    // The padding is the same too: the epoch's first total_size - N samples, repeated if there are
    // too few.
    const uint64_t padding = each * share.world - share.samples;
    for (uint64_t index = 0; index < share.samples; ++index) {
      const uint64_t again = padding / share.samples + (index < padding % share.samples ? 1 : 0);
      ASSERT_EQ(often[index], 1 + again);
    }
  }
}

TEST_F(PadRanks, AStateAfterAnyStepGoesOnWithTheBatchesThatWereToCome) {
  for (int i = 0; i < 500; ++i) {
    const Share share = Random();
    Share mine = share;
    mine.rank = static_cast<uint32_t>(Pick(0, share.world - 1));
    const Batches whole = TakenBy(share, mine.rank);
    for (uint64_t step = 0; step < BatchCount(mine); ++step) {
      Share resumed = share;
      resumed.consumed = BatchAt(mine, step).consumed;
      const Batches rest(whole.begin() + static_cast<ptrdiff_t>(step) + 1, whole.end());
      ASSERT_EQ(TakenBy(resumed, mine.rank), rest);
    }
  }
}

TEST_F(PadRanks, OneRankTakesWhatPartialGivesIt) {
  for (int i = 0; i < 500; ++i) {
    Share share = Random();
    share.world = 1;
    const Batches padded = TakenBy(share, 0);
    share.remainder = Remainder::kPartial;
    ASSERT_EQ(TakenBy(share, 0), padded);
  }
}

TEST_F(PadRanks, TheLargestNumbersDoNotOverflow) {
  Share share = ShareOf(kMaxSamples, kMaxSamples - 1, UINT32_MAX, 1u << 30);
  share.rank = share.world - 1;
  ASSERT_TRUE(Validate(share).ok());
  ASSERT_EQ(BatchCount(share), 1u);

  const Batch batch = BatchAt(share, 0);

  EXPECT_EQ(batch.first, kMaxSamples - 1 + share.rank);
  EXPECT_EQ(batch.rows, 1u);
  EXPECT_EQ(batch.valid_rows, 0u);
  EXPECT_EQ(batch.consumed, kMaxSamples);
}

}  // namespace
}  // namespace penstock::plan
