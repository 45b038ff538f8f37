// An order for storage that is read best in sequence. Consecutive samples form shards, the shards
// are permuted, and samples are shuffled within a window of several shards, so that at any time
// only one window's bytes are needed. README.md specifies it and says how well it mixes. Pure
// arithmetic, O(1) in time and memory; any thread.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "server/plan/plan.h"

namespace penstock::plan {

struct Windows {
  uint64_t shard_samples = 0;  // per shard, at least 1; the dataset's last shard may have fewer
  uint32_t shards = 0;         // per window, at least 1; an epoch's last window may have fewer
  bool operator==(const Windows&) const = default;
};

absl::Status Validate(const Windows& windows);

// The order of one epoch.
class WindowedOrder {
 public:
  // **Requires**: valid windows; 1 ≤ samples ≤ kMaxSamples.
  WindowedOrder(const Windows& windows, uint64_t samples, uint64_t seed, uint64_t epoch);
  uint64_t operator()(uint64_t index) const;  // index < samples
  uint64_t PlaceOf(uint64_t sample) const;    // the inverse: the index of `sample`

 private:
  uint64_t WindowOf(uint64_t index) const;
  uint64_t StartOf(uint64_t window) const;

  uint64_t samples_;
  uint64_t shard_samples_;
  uint64_t shards_;       // per window
  Permutation permuted_;  // order of all shards
  uint64_t missing_;      // samples that the last shard lacks
  uint64_t short_place_;  // the position of that shard in the epoch's order
  uint64_t window_key_;
};

// SampleAt of plan.h for every order; `windows` matters only to kShuffledInWindows.
uint64_t SampleAt(Order order, const Windows& windows, uint64_t samples, uint64_t seed,
                  uint64_t epoch, uint64_t index);

}  // namespace penstock::plan
