// Which samples of a dataset come, and in which order. server/plan/README.md specifies all of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "penstock/export.h"
#include "penstock/status.h"

namespace penstock {

// kGiven: as SessionOptions::given says, every epoch the same. kShuffledInWindows: for storage that
// is read best in sequence; SessionOptions::shuffle_window says how.
enum class Order { kSequential, kShuffled, kGiven, kShuffledInWindows };

// Which of how many ranks that each give an order of their own.
struct GivenBy {
  uint32_t rank = 0, ranks = 1;
  bool operator==(const GivenBy&) const = default;
};

// What happens to samples that do not fill a batch of every rank. kDrop: they are left out.
// kPadRanks: every rank takes equally many samples, as few as that allows, in a last batch that may
// be short, as with torch's DistributedSampler. kPadBatch: the last batches are full. In both, the
// epoch's first samples fill up, in rows that valid_rows() does not count. kPartial: every sample
// once; a rank's last batch may be short or missing. kDefault: kPartial for one rank, kPadRanks for
// more.
enum class Remainder { kDefault, kDrop, kPadBatch, kPartial, kPadRanks };

// Samples of a dataset that lie together, by their numbers there, which they keep.
struct SampleRange {
  uint64_t first = 0;
  uint64_t count = 0;  // at least 1
  bool operator==(const SampleRange&) const = default;
};

// Of kShuffledInWindows: consecutive samples are taken together as shards, the shards are permuted,
// and samples are shuffled within a window of so many shards.
struct ShuffleWindow {
  // Of a shard; 0: as many as the longest of the dataset's shards has (tar), which is refused where
  // it has none.
  uint64_t shard_samples = 0;
  uint32_t shards = 16;  // in a window
};

// An order for SessionOptions::given; pure, any thread: `count` samples drawn with replacement,
// sample i with probability weights[i] divided by their sum: the same for the same numbers
// everywhere, as server/plan/README.md specifies it. Takes time and memory in proportion to weights
// and draws. kInvalidArgument: no weights, no draws, a weight that is negative or no number, or
// none above 0.
PENSTOCK_EXPORT Result<std::vector<uint64_t>> DrawWeighted(std::span<const double> weights,
                                                           uint64_t count, uint64_t seed,
                                                           uint64_t epoch);

}  // namespace penstock
