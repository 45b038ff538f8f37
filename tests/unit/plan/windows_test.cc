#include "server/plan/windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <vector>

namespace penstock::plan {
namespace {

using ::testing::HasSubstr;

std::vector<uint64_t> OrderOf(const Windows& windows, uint64_t samples, uint64_t seed = 1,
                              uint64_t epoch = 0) {
  const WindowedOrder order(windows, samples, seed, epoch);
  std::vector<uint64_t> all(samples);
  for (uint64_t i = 0; i < samples; ++i) {
    all[i] = order(i);
    EXPECT_EQ(order.PlaceOf(all[i]), i);
  }
  return all;
}

bool IsOrderOfAll(const std::vector<uint64_t>& order) {
  const std::set<uint64_t> seen(order.begin(), order.end());
  return seen.size() == order.size() && *seen.rbegin() == order.size() - 1;
}

TEST(WindowsTest, NumbersThatCannotBeAreRefused) {
  EXPECT_THAT(std::string(Validate(Windows{0, 4}).message()), HasSubstr("a shard has 0 samples"));
  EXPECT_THAT(std::string(Validate(Windows{kMaxSamples + 1, 4}).message()),
              HasSubstr("must have 1 to"));
  EXPECT_THAT(std::string(Validate(Windows{10, 0}).message()), HasSubstr("a window has 0 shards"));
  EXPECT_EQ(Validate(Windows{10, 0}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Validate(Windows{1, 1}).ok());
}

TEST(WindowsDeathTest, AnIndexOutsideTheEpochIsOurBug) {
  EXPECT_DEATH(WindowedOrder({10, 2}, 100, 1, 0)(100), "index");
  EXPECT_DEATH(WindowedOrder({0, 2}, 100, 1, 0), "Validate");
}

TEST(WindowsTest, EverySampleComesOnceForEverySmallSize) {
  for (uint64_t samples = 1; samples <= 40; ++samples)
    for (uint64_t shard = 1; shard <= 12; ++shard)
      for (uint32_t shards = 1; shards <= 8; ++shards)
        for (uint64_t epoch : {0, 1, 2})
          ASSERT_TRUE(IsOrderOfAll(OrderOf({shard, shards}, samples, 9, epoch)))
              << samples << " in shards of " << shard << ", " << shards << " a window";
}

TEST(WindowsTest, EverySampleComesOnceForLargerSizes) {
  for (uint64_t samples : {5000, 4999, 5001, 65'536})
    for (uint64_t shard : {7, 100, 1000, 9999})
      ASSERT_TRUE(IsOrderOfAll(OrderOf({shard, 3}, samples))) << samples << " " << shard;
}

// The purpose of windows: between a window's first and last sample, only the window's shards are
// read, each completely, and none of them again.
TEST(WindowsTest, AWindowsShardsAreWholeAndComeInNoOtherWindow) {
  constexpr uint64_t kSamples = 1030, kShard = 100;
  constexpr uint32_t kShards = 3;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<uint64_t> order = OrderOf({kShard, kShards}, kSamples, seed);
    std::set<uint64_t> closed, open;
    uint64_t left_in_window = 0;
    for (uint64_t i = 0; i < kSamples; ++i) {
      if (left_in_window == 0) {
        closed.insert(open.begin(), open.end());
        open.clear();
        std::set<uint64_t> ahead;
        for (uint64_t j = i; j < kSamples && ahead.size() <= kShards; ++j)
          ahead.insert(order[j] / kShard);
        // The window consists of exactly the samples of the first shards in the order.
        std::set<uint64_t> window;
        for (uint64_t j = i; window.size() < kShards && j < kSamples; ++j)
          window.insert(order[j] / kShard);
        for (const uint64_t shard : window)
          left_in_window += std::min(kSamples, (shard + 1) * kShard) - shard * kShard;
        open = window;
      }
      ASSERT_TRUE(open.contains(order[i] / kShard)) << "at " << i << " of seed " << seed;
      ASSERT_FALSE(closed.contains(order[i] / kShard)) << "at " << i << " of seed " << seed;
      --left_in_window;
    }
  }
}

TEST(WindowsTest, WithinAWindowAllItsShardsAreMixed) {
  const std::vector<uint64_t> order = OrderOf({100, 4}, 1000);
  const std::set<uint64_t> first_ten = [&] {
    std::set<uint64_t> shards;
    for (int i = 0; i < 20; ++i) shards.insert(order[i] / 100);
    return shards;
  }();

  EXPECT_EQ(first_ten.size(), 4u);
}

TEST(WindowsTest, AnotherSeedOrEpochGivesAnotherOrder) {
  const std::set<std::vector<uint64_t>> orders = {
      OrderOf({10, 2}, 100, 0, 0), OrderOf({10, 2}, 100, 0, 1), OrderOf({10, 2}, 100, 1, 0),
      OrderOf({10, 3}, 100, 0, 0), OrderOf({11, 2}, 100, 0, 0)};

  EXPECT_EQ(orders.size(), 5u);
}

TEST(WindowsTest, MoreThanThereIsIsAllThereIs) {
  EXPECT_TRUE(IsOrderOfAll(OrderOf({kMaxSamples, UINT32_MAX}, 100)));
  EXPECT_EQ(OrderOf({10, 10}, 100), OrderOf({10, 4000}, 100));
}

TEST(WindowsTest, TheLargestDatasetsAreInRange) {
  for (const uint64_t samples : {kMaxSamples, kMaxSamples - 1}) {
    for (const Windows& windows : {Windows{1, UINT32_MAX}, Windows{kMaxSamples / 2 + 1, 1},
                                   Windows{10'000, 16}, Windows{kMaxSamples, 1}}) {
      const WindowedOrder order(windows, samples, 5, 3);
      for (uint64_t index : {uint64_t{0}, samples / 2, samples - 1})
        EXPECT_LT(order(index), samples);
    }
  }
}

TEST(WindowsTest, OtherOrdersAreAsEver) {
  EXPECT_EQ(SampleAt(Order::kShuffled, {}, 1000, 3, 4, 5),
            SampleAt(Order::kShuffled, 1000, 3, 4, 5));
  EXPECT_EQ(SampleAt(Order::kSequential, {}, 1000, 3, 4, 5), 5u);
  EXPECT_EQ(SampleAt(Order::kShuffledInWindows, {10, 2}, 1000, 3, 4, 5),
            WindowedOrder({10, 2}, 1000, 3, 4)(5));
}

// A change of the arithmetic would silently give resumed trainers other samples.
TEST(WindowsTest, TheOrderIsTheOneThatWasPublished) {
  EXPECT_EQ(OrderOf({3, 2}, 10, 42), (std::vector<uint64_t>{1, 6, 2, 0, 7, 8, 9, 5, 3, 4}));
}

TEST(WindowsTest, AnyIndexOfABillionSamplesIsReachedAtOnce) {
  constexpr int kCalls = 50'000;
  const auto begin = std::chrono::steady_clock::now();

  uint64_t sum = 0;
  for (int i = 0; i < kCalls; ++i)
    sum += SampleAt(Order::kShuffledInWindows, {10'000, 16}, 1'000'000'000, i, 0, 999'999'999 - i);

  const auto each = (std::chrono::steady_clock::now() - begin) / kCalls;
  EXPECT_NE(sum, 0u);
  EXPECT_LT(each, std::chrono::microseconds(50));
}

}  // namespace
}  // namespace penstock::plan
