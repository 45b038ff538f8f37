// Which samples of a dataset an epoch has, and in which order. server/plan/README.md specifies all
// of it. Plain values and one pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "penstock/export.h"
#include "penstock/status.h"

namespace penstock {

// kGiven: the order in SessionOptions::given, the same in every epoch. kShuffledInWindows: a
// shuffle for storage that reads best in sequence; SessionOptions::shuffle_window has its
// parameters.
enum class Order { kSequential, kShuffled, kGiven, kShuffledInWindows };

// Identifies this rank where each of `ranks` ranks gives an order of its own.
struct GivenBy {
  uint32_t rank = 0, ranks = 1;
  bool operator==(const GivenBy&) const = default;
};

// What happens to the samples at the end of an epoch that do not fill a batch of every rank. With
// kPadBatch and kPadRanks the epoch's first samples come again; Batch::valid_rows() does not count
// them.
enum class Remainder {
  kDefault,   // kPartial for one rank, kPadRanks for more
  kDrop,      // they are left out
  kPadBatch,  // every rank's last batch is filled up
  kPartial,   // every sample comes once; a rank's last batch may be short or missing
  kPadRanks,  // every rank takes the same number of samples, the smallest possible; the last batch
              // may be short, as with torch's DistributedSampler
};

// A run of consecutive samples of a dataset. They keep their numbers.
struct SampleRange {
  uint64_t first = 0;  // number of the first sample
  uint64_t count = 0;  // at least 1
  bool operator==(const SampleRange&) const = default;
};

// Parameters of Order::kShuffledInWindows. Consecutive samples form shards, the shards are
// permuted, and samples are shuffled within a window of `shards` shards.
struct ShuffleWindow {
  // Samples in a shard. 0: the size of the dataset's largest shard (tar); a dataset without shards
  // is then refused.
  uint64_t shard_samples = 0;
  uint32_t shards = 16;  // in a window
};

// Draws an order for SessionOptions::given: `count` samples with replacement, sample i with
// probability weights[i] / sum(weights). The result depends on the arguments alone and is the same
// on every machine. Takes time and memory in proportion to weights.size() + count.
//
// **Thread safety**: pure; any thread.
// **Errors**: kInvalidArgument: no weights, count is 0, a weight is negative or not finite, all
// weights are 0, or their sum overflows.
PENSTOCK_EXPORT Result<std::vector<uint64_t>> DrawWeighted(std::span<const double> weights,
                                                           uint64_t count, uint64_t seed,
                                                           uint64_t epoch);

}  // namespace penstock
