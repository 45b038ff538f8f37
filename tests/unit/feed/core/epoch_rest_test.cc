#include "server/feed/core/epoch_rest.h"

#include <gtest/gtest.h>

namespace penstock::feed {
namespace {

TEST(RestOfEpochTest, NothingIsLeftExactlyBehindAnEpochsLastBatch) {
  const EpochBatches batches = {.first = 2, .each = 5};

  EXPECT_EQ(RestOfEpoch(batches, 0), 2u);
  EXPECT_EQ(RestOfEpoch(batches, 1), 1u);
  EXPECT_EQ(RestOfEpoch(batches, 2), 0u);
  EXPECT_EQ(RestOfEpoch(batches, 3), 4u);
  EXPECT_EQ(RestOfEpoch(batches, 6), 1u);
  EXPECT_EQ(RestOfEpoch(batches, 7), 0u);
  EXPECT_EQ(RestOfEpoch(batches, 12), 0u);
}

TEST(RestOfEpochTest, ASessionThatBeganAtAnEpochsEndIsInTheNextOne) {
  const EpochBatches batches = {.first = 0, .each = 5};

  EXPECT_EQ(RestOfEpoch(batches, 0), 5u);
  EXPECT_EQ(RestOfEpoch(batches, 5), 0u);
}

TEST(RestOfEpochTest, WithoutBatchesNothingIsLeft) {
  EXPECT_EQ(RestOfEpoch({.first = 0, .each = 0}, 0), 0u);
}

}  // namespace
}  // namespace penstock::feed
