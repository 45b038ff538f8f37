#include "server/feed/stats/dataset_counts.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace penstock::feed {
namespace {

FeedView Counts(uint64_t batches) {
  return {
      .batches_decoded = batches, .batches_announced = 2 * batches, .rows_decoded = 8 * batches};
}

uint64_t BatchesOf(const DatasetCounts& counts, const std::string& name) {
  const auto found = counts.all().find(name);
  return found == counts.all().end() ? 0 : found->second.counts.batches_decoded;
}

TEST(DatasetCountsTest, WhatNobodyWatchesIsNotCounted) {
  DatasetCounts counts;

  counts.Settle(FeedId(1), Counts(5));

  EXPECT_TRUE(counts.all().empty());
}

TEST(DatasetCountsTest, PathsTextsAndWhatIsBeyondTheLimitShareAName) {
  DatasetCounts counts;
  counts.Watch(FeedId(1), "/data/flowers", {});
  counts.Watch(FeedId(2), "synthetic:224x224x3", {});
  for (uint64_t i = 0; i < DatasetCounts::kMaxNames + 10; ++i)
    counts.Watch(FeedId(10 + i), absl::StrCat("d", i), {});

  for (uint64_t id = 1; id < 10 + DatasetCounts::kMaxNames + 10; ++id)
    counts.Settle(FeedId(id), Counts(1));

  EXPECT_EQ(counts.all().size(), DatasetCounts::kMaxNames);
  EXPECT_EQ(BatchesOf(counts, "(other)"), 13u);
  EXPECT_EQ(BatchesOf(counts, "d0"), 1u);
}

TEST(DatasetCountsTest, FeedsOfOneDatasetAreAddedUpWithAllTheyCount) {
  DatasetCounts counts;
  counts.Watch(FeedId(1), "flowers", {});
  counts.Watch(FeedId(2), "flowers", {});

  counts.Settle(FeedId(1), Counts(3));
  counts.Settle(FeedId(2), Counts(4));
  counts.Settle(FeedId(2), Counts(6));

  EXPECT_EQ(BatchesOf(counts, "flowers"), 9u);
  EXPECT_EQ(counts.all().at("flowers").counts.batches_announced, 18u);
  EXPECT_EQ(counts.all().at("flowers").counts.rows_decoded, 72u);
}

TEST(DatasetCountsTest, WhatAFeedSumsUpStaysWhenTheFeedGoes) {
  DatasetCounts counts;
  {
    FeedFlow first(counts.FlowOf("flowers"));
    first.Waited(std::chrono::seconds(2), {});
  }
  FeedFlow second(counts.FlowOf("flowers"));
  second.Waited(std::chrono::seconds(3), {});

  EXPECT_EQ(counts.all().at("flowers").flow.stages.waits, 2u);
  EXPECT_EQ(counts.all().at("flowers").flow.stages.consumer, std::chrono::seconds(5));
}

TEST(DatasetCountsTest, AFeedThatEndsTakesNothingAway) {
  DatasetCounts counts;
  counts.Watch(FeedId(1), "flowers", {});
  counts.Settle(FeedId(1), Counts(3));

  counts.Forget(FeedId(1));
  counts.Settle(FeedId(1), Counts(9));

  EXPECT_EQ(BatchesOf(counts, "flowers"), 3u);
}

TEST(DatasetCountsTest, AFeedThatComesBackGoesOnWhereItWas) {
  DatasetCounts counts;
  counts.Watch(FeedId(1), "flowers", {});
  counts.Settle(FeedId(1), Counts(3));
  counts.Forget(FeedId(1));

  counts.Watch(FeedId(1), "flowers", Counts(3));
  counts.Watch(FeedId(1), "flowers", Counts(3));  // for a second session
  counts.Settle(FeedId(1), Counts(5));

  EXPECT_EQ(BatchesOf(counts, "flowers"), 5u);
}

TEST(DatasetCountsTest, AFeedThatBeginsAnewCountsFromNothing) {
  DatasetCounts counts;
  counts.Watch(FeedId(1), "flowers", {});
  counts.Settle(FeedId(1), Counts(3));

  counts.Settle(FeedId(1), Counts(1));

  EXPECT_EQ(BatchesOf(counts, "flowers"), 4u);
}

}  // namespace
}  // namespace penstock::feed
