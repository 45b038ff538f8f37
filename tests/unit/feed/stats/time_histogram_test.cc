#include "server/feed/stats/time_histogram.h"

#include <gtest/gtest.h>

#include <numeric>

namespace penstock::feed {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

uint64_t CountIn(const TimeHistogram& times) {
  return std::accumulate(times.buckets().begin(), times.buckets().end(), uint64_t{0});
}

TEST(TimeHistogramTest, ATimeOnALimitBelongsBelowIt) {
  TimeHistogram times;

  times.Observe(microseconds(100));
  times.Observe(microseconds(100) + nanoseconds(1));
  times.Observe(seconds(60));
  times.Observe(seconds(61));

  EXPECT_EQ(times.buckets()[0], 1u);
  EXPECT_EQ(times.buckets()[1], 1u);
  EXPECT_EQ(times.buckets()[TimeHistogram::kBuckets - 2], 1u);
  EXPECT_EQ(times.buckets()[TimeHistogram::kBuckets - 1], 1u);
}

TEST(TimeHistogramTest, ANegativeTimeCountsAsNone) {
  TimeHistogram times;

  times.Observe(milliseconds(-5));

  EXPECT_EQ(times.buckets()[0], 1u);
  EXPECT_EQ(times.sum(), base::Duration::zero());
}

TEST(TimeHistogramTest, ARunCountsEachOfItsRowsWithTheMean) {
  TimeHistogram times;

  times.Observe(milliseconds(3), 64);

  EXPECT_EQ(CountIn(times), 64u);
  EXPECT_EQ(times.sum(), milliseconds(192));
}

TEST(TimeHistogramTest, EachBucketKeepsItsLatestBatch) {
  TimeHistogram times;

  times.ObserveBatch(milliseconds(3), 7, "a");
  times.ObserveBatch(milliseconds(4), 8, "b");
  times.ObserveBatch(seconds(2), 9, "");

  EXPECT_EQ(times.exemplars()[4].session, 8u);
  EXPECT_EQ(times.exemplars()[4].trace_id, "b");
  EXPECT_EQ(times.exemplars()[4].took, milliseconds(4));
  EXPECT_EQ(times.exemplars()[12].session, 9u);
  EXPECT_EQ(times.exemplars()[0].session, 0u);
}

TEST(TimeHistogramTest, TheLimitOfTheObjectiveIsALimitOfABucket) {
  bool found = false;
  for (const auto limit : TimeHistogram::kLimits) found |= limit == milliseconds(250);

  EXPECT_TRUE(found);  // deploy/grafana/alerts.yml uses le="0.25"
}

}  // namespace
}  // namespace penstock::feed
