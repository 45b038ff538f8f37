#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <vector>

#include "server/plan/plan.h"

namespace penstock::plan {
namespace {

std::vector<uint64_t> OrderOf(uint64_t samples, uint64_t seed, uint64_t epoch) {
  const Permutation permutation(samples, seed, epoch);
  std::vector<uint64_t> order(samples);
  for (uint64_t i = 0; i < samples; ++i) order[i] = permutation(i);
  return order;
}

bool IsPermutation(const std::vector<uint64_t>& order) {
  std::vector<bool> seen(order.size());
  for (uint64_t sample : order) {
    if (sample >= order.size() || seen[sample]) return false;
    seen[sample] = true;
  }
  return true;
}

TEST(PermutationDeathTest, AnIndexOutsideTheEpochIsOurBug) {
  const Permutation permutation(10, 1, 0);

  EXPECT_DEATH(permutation(10), "index");
  EXPECT_DEATH(permutation.PlaceOf(10), "sample");
  EXPECT_DEATH(SampleAt(Order::kShuffledInWindows, 10, 1, 0, 1), "order");
  EXPECT_DEATH(SampleAt(Order::kSequential, 10, 1, 0, 10), "index");
  EXPECT_DEATH(Permutation(0, 1, 0), "samples");
  EXPECT_DEATH(Permutation(kMaxSamples + 1, 1, 0), "samples");
}

TEST(PermutationTest, EverySampleComesOnceForEveryTinyCount) {
  for (uint64_t samples = 1; samples <= 300; ++samples) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      ASSERT_TRUE(IsPermutation(OrderOf(samples, seed, seed / 3))) << samples << " of " << seed;
    }
  }
}

TEST(PermutationTest, EverySampleComesOnceAroundPowersOfTwoAndElsewhere) {
  for (uint64_t samples :
       {1000, 1023, 1024, 1025, 4095, 4096, 4097, 50'000, 65'535, 65'536, 65'537}) {
    for (uint64_t seed : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
      for (uint64_t epoch : {uint64_t{0}, uint64_t{7}}) {
        ASSERT_TRUE(IsPermutation(OrderOf(samples, seed, epoch))) << samples << " of " << seed;
      }
    }
  }
}

TEST(PermutationTest, TheIndexOfEverySampleIsFoundAgain) {
  for (uint64_t samples : {1, 2, 3, 7, 100, 256, 257, 1000, 65'537}) {
    const Permutation permutation(samples, 5, 6);
    for (uint64_t i = 0; i < samples; ++i) ASSERT_EQ(permutation.PlaceOf(permutation(i)), i);
  }
  const Permutation largest(kMaxSamples, 5, 6);
  EXPECT_EQ(largest.PlaceOf(largest(12'345)), 12'345u);
}

TEST(PermutationTest, OneSampleIsItsOwnOrder) { EXPECT_EQ(Permutation(1, 5, 3)(0), 0u); }

TEST(PermutationTest, TheSameSeedAndEpochGiveTheSameOrder) {
  EXPECT_EQ(OrderOf(5000, 3, 4), OrderOf(5000, 3, 4));
}

TEST(PermutationTest, AnotherSeedOrEpochGivesAnotherOrder) {
  const std::set<std::vector<uint64_t>> orders = {OrderOf(100, 0, 0), OrderOf(100, 0, 1),
                                                  OrderOf(100, 1, 0), OrderOf(100, 1, 1)};

  EXPECT_EQ(orders.size(), 4u);
}

TEST(PermutationTest, SequentialOrderIsTheIndexItself) {
  EXPECT_EQ(SampleAt(Order::kSequential, 10, 99, 3, 7), 7u);
}

TEST(PermutationTest, TheLargestDatasetsAreInRange) {
  for (uint64_t samples : {uint64_t{1'000'000'000}, kMaxSamples - 1, kMaxSamples}) {
    for (uint64_t index : {uint64_t{0}, samples / 2, samples - 1}) {
      EXPECT_LT(SampleAt(Order::kShuffled, samples, 42, 0, index), samples);
    }
  }
}

// A change of the arithmetic would silently give resumed trainers other samples.
TEST(PermutationTest, TheOrderIsTheOneThatWasPublished) {
  const auto at = [](uint64_t samples, uint64_t seed, uint64_t epoch, uint64_t index) {
    return SampleAt(Order::kShuffled, samples, seed, epoch, index);
  };

  EXPECT_EQ(OrderOf(10, 42, 0), (std::vector<uint64_t>{3, 9, 8, 5, 4, 7, 6, 0, 1, 2}));
  EXPECT_EQ(at(1'000'000'000, 42, 0, 0), 553999643u);
  EXPECT_EQ(at(1'000'000'000, 42, 1, 999'999'999), 717801405u);
  EXPECT_EQ(SubstituteFor(1'000'000'000, 42, 0, 17, 1), 419884517u);
}

// Constant cost: the last of 10⁹ samples costs as much as the first of 10³, within a wide margin.
TEST(PermutationTest, AnyIndexOfABillionSamplesIsReachedAtOnce) {
  constexpr int kCalls = 100'000;
  const auto begin = std::chrono::steady_clock::now();

  uint64_t sum = 0;
  for (int i = 0; i < kCalls; ++i) {
    sum += SampleAt(Order::kShuffled, 1'000'000'000, i, 0, 999'999'999 - i);
  }

  const auto each = (std::chrono::steady_clock::now() - begin) / kCalls;
  EXPECT_NE(sum, 0u);
  EXPECT_LT(each, std::chrono::microseconds(5));
}

}  // namespace
}  // namespace penstock::plan
