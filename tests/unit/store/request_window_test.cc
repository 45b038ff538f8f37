// How many requests may be under way: as many as pay, fewer when the store asks.
#include "server/store/files/request_window.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::store {
namespace {

constexpr uint64_t kBytes = 100'000;

// A store that answers after 30 ms each, but at most so many bytes a second altogether.
class SimulatedStore {
 public:
  explicit SimulatedStore(double most_rate) : most_rate_(most_rate) {}

  // One round after another: as many requests as the window holds.
  void Run(RequestWindow& window, int rounds, bool is_full = true) {
    for (int round = 0; round < rounds; ++round) {
      const uint32_t requests = std::max(window.size(), 16u);
      const double unbound = window.size() * kBytes / 0.03;
      const double seconds = requests * kBytes / std::min(most_rate_, unbound);
      for (uint32_t i = 0; i < requests; ++i) {
        now_ += std::chrono::nanoseconds(static_cast<int64_t>(seconds / requests * 1e9));
        window.End({.bytes = kBytes, .was_full = is_full}, now_);
      }
      largest_ = std::max(largest_, window.size());
    }
  }
  void AskToSlow(RequestWindow& window, uint32_t requests) {
    for (uint32_t i = 0; i < requests; ++i) window.End({.asks_to_slow = true}, now_);
  }
  uint32_t largest() const { return largest_; }

 private:
  const double most_rate_;
  base::TimePoint now_{std::chrono::seconds(1)};
  uint32_t largest_ = 0;
};

TEST(RequestWindowTest, GrowsToWhatTheStoreCarriesAndNotBeyond) {
  RequestWindow window({.first = 16});
  SimulatedStore store(1e9);  // 300 requests of 100 KB at 30 ms
  store.Run(window, 60);
  EXPECT_GE(window.size(), 240u);
  EXPECT_LE(store.largest(), 450u);
}

TEST(RequestWindowTest, StaysSmallWhereMoreRequestsCarryNoMore) {
  RequestWindow window({.first = 64});
  SimulatedStore store(1e8);  // 30 requests
  store.Run(window, 200);
  EXPECT_LE(store.largest(), 80u);
}

TEST(RequestWindowTest, DoesNotGrowWhileItIsNotFull) {
  RequestWindow window({.first = 64});
  SimulatedStore store(1e12);
  store.Run(window, 50, false);
  EXPECT_EQ(window.size(), 64u);
}

TEST(RequestWindowTest, HalvesOnceARoundWhenTheStoreAsksToSlowDown) {
  RequestWindow window({.least = 4, .first = 64});
  SimulatedStore store(1e12);
  store.AskToSlow(window, 20);
  EXPECT_EQ(window.size(), 32u);
  store.AskToSlow(window, 1000);
  EXPECT_EQ(window.size(), 4u);
  EXPECT_GE(window.halvings(), 4u);
  store.Run(window, 60);
  EXPECT_GT(window.size(), 64u) << "it grows again once the store no longer asks";
}

TEST(RequestWindowTest, NeverLeavesItsLimits) {
  RequestWindow window({.least = 4, .first = 1000, .most = 20});
  EXPECT_EQ(window.size(), 20u);
  SimulatedStore store(1e12);
  store.Run(window, 50);
  EXPECT_EQ(window.size(), 20u);
}

}  // namespace
}  // namespace penstock::store
