// How fast stores are, from what was counted.
#include "server/store/files/store_watch.h"

#include <gtest/gtest.h>

namespace penstock::store {
namespace {

using std::chrono::milliseconds;

TEST(StoreWatchTest, RatesAreThoseOfTheLastSeconds) {
  StoreWatch watch;
  StoreCounts counts;
  base::TimePoint now{std::chrono::seconds(100)};
  for (int i = 0; i < 100; ++i, now += milliseconds(200)) {
    counts.transfers.bytes += i < 50 ? 1'000'000'000 : 20'000'000;
    counts.transfers.under_way = i % 2 == 0 ? 100 : 200;
    watch.Look(counts, now);
  }
  EXPECT_NEAR(watch.rates().bytes_per_second, 1e8, 1e3);
  EXPECT_NEAR(watch.rates().under_way, 150, 3);
}

TEST(StoreWatchTest, BeforeThereIsASpanNothingIsKnown) {
  StoreWatch watch;
  StoreCounts counts;
  counts.transfers.bytes = 1'000'000;
  watch.Look(counts, base::TimePoint{std::chrono::seconds(100)});
  EXPECT_EQ(watch.rates().bytes_per_second, 0);
}

}  // namespace
}  // namespace penstock::store
