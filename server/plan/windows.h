// The order for storage that is read best in sequence: consecutive samples are taken together as
// shards, the shards are permuted, and samples are shuffled within a window of so many shards. So
// at any time one window's bytes are wanted and no others. Pure arithmetic, O(1) in time and
// memory. README.md specifies it, and says how well it mixes. Any thread.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "server/plan/plan.h"

namespace penstock::plan {

struct Windows {
  uint64_t shard_samples = 0;  // of a shard, at least 1; the dataset's last shard may have fewer
  uint32_t shards = 0;         // of a window, at least 1; an epoch's last window may have fewer
  bool operator==(const Windows&) const = default;
};

absl::Status Validate(const Windows& windows);

// One epoch.
class WindowedOrder {
 public:
  // Valid windows; 1 ≤ samples ≤ kMaxSamples.
  WindowedOrder(const Windows& windows, uint64_t samples, uint64_t seed, uint64_t epoch);
  uint64_t operator()(uint64_t index) const;  // index < samples

 private:
  uint64_t WindowOf(uint64_t index) const;
  uint64_t StartOf(uint64_t window) const;

  uint64_t samples_;
  uint64_t shard_samples_;
  uint64_t shards_;       // of a window
  Permutation permuted_;  // of all shards
  uint64_t missing_;      // samples, in the last shard
  uint64_t short_place_;  // where in the epoch that shard comes
  uint64_t window_key_;
};

// SampleAt of plan.h, for every order; `windows` is looked at where the order has some.
uint64_t SampleAt(Order order, const Windows& windows, uint64_t samples, uint64_t seed,
                  uint64_t epoch, uint64_t index);

}  // namespace penstock::plan
