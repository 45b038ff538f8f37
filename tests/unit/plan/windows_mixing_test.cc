// How well windows of shards mix, compared with the full shuffle. server/plan/README.md quotes the
// output.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <set>
#include <vector>

#include "server/plan/windows.h"

namespace penstock::plan {
namespace {

constexpr uint64_t kSamples = 1'281'167, kShard = 1000, kClasses = 1000, kBatch = 256;

struct Mixing {
  double distance = 0;   // between neighbours, relative to the random mean, a third of the dataset
  double one_shard = 0;  // share of neighbours from the same shard
  double classes = 0;    // per batch, if the dataset is sorted by class
  double moved = 0;      // |correlation| of a sample's positions in two epochs
};

double Third() { return static_cast<double>(kSamples) / 3; }

template <typename Order>
double DistanceOfNeighbours(const Order& order, double& one_shard) {
  double distance = 0;
  uint64_t together = 0;
  uint64_t before = order(0);
  for (uint64_t i = 1; i < kSamples; ++i) {
    const uint64_t now = order(i);
    distance += std::abs(static_cast<double>(now) - static_cast<double>(before));
    together += now / kShard == before / kShard;
    before = now;
  }
  one_shard = static_cast<double>(together) / (kSamples - 1);
  return distance / (kSamples - 1) / Third();
}

template <typename Order>
double ClassesInABatch(const Order& order) {
  uint64_t classes = 0;
  constexpr uint64_t kBatches = kSamples / kBatch;
  for (uint64_t batch = 0; batch < kBatches; ++batch) {
    std::set<uint64_t> seen;
    for (uint64_t i = batch * kBatch; i < (batch + 1) * kBatch; ++i)
      seen.insert(order(i) * kClasses / kSamples);
    classes += seen.size();
  }
  return static_cast<double>(classes) / kBatches;
}

// Compares positions, because a sample's number says nothing about how similar two epochs are.
template <typename Order>
double AlikeInTwoEpochs(const Order& first, const Order& second) {
  std::vector<double> place(kSamples);
  for (uint64_t i = 0; i < kSamples; ++i) place[first(i)] = static_cast<double>(i);
  const double mean = (static_cast<double>(kSamples) - 1) / 2;
  double together = 0, alone = 0;
  for (uint64_t i = 0; i < kSamples; ++i) {
    together += (place[second(i)] - mean) * (static_cast<double>(i) - mean);
    alone += (static_cast<double>(i) - mean) * (static_cast<double>(i) - mean);
  }
  return std::abs(together / alone);
}

template <typename Make>
Mixing Measure(const Make& make) {
  Mixing mixing;
  const auto order = make(0);
  mixing.distance = DistanceOfNeighbours(order, mixing.one_shard);
  mixing.classes = ClassesInABatch(order);
  mixing.moved = AlikeInTwoEpochs(order, make(1));
  return mixing;
}

Mixing Print(const char* name, const Mixing& mixing) {
  std::printf("| %s | %.3f | %.2f %% | %.1f | %.3f |\n", name, mixing.distance,
              100 * mixing.one_shard, mixing.classes, mixing.moved);
  return mixing;
}

Mixing InWindowsOf(uint32_t shards) {
  return Print(std::to_string(shards).c_str(), Measure([shards](uint64_t epoch) {
                 return WindowedOrder({kShard, shards}, kSamples, 1, epoch);
               }));
}

TEST(WindowsMixingTest, NeighboursAreAsUnrelatedAsSoManyShardsAllow) {
  std::printf("| shards | distance | of one shard | classes | two epochs |\n");
  for (const uint32_t shards : {4u, 16u, 64u, 256u}) {
    const Mixing mixing = InWindowsOf(shards);

    EXPECT_NEAR(mixing.one_shard, 1.0 / shards, 0.2 / shards);
    EXPECT_NEAR(mixing.distance, 1 - 1.0 / shards, 0.1);
    EXPECT_LT(mixing.moved, 0.15);
  }
  const Mixing full = Print(
      "all, shuffled", Measure([](uint64_t epoch) { return Permutation(kSamples, 1, epoch); }));
  EXPECT_NEAR(full.distance, 1, 0.01);
  EXPECT_NEAR(full.classes, 226, 1);  // 1000 · (1 − 0.999²⁵⁶)
}

}  // namespace
}  // namespace penstock::plan
