// Which sample is at which place: pure arithmetic, O(1) in time and memory for any dataset size.
// README.md specifies every number here, so that anyone can reproduce an order. Any thread.
#pragma once

#include <compare>
#include <cstdint>

#include "common/base/status.h"

namespace penstock::plan {

// The order of a feed's samples within its epochs. The numbers are part of fingerprints; 2 stands
// for an order that a client gave.
enum class Order : uint32_t { kSequential = 0, kShuffled = 1, kShuffledInWindows = 3 };

// What happens to the samples of an epoch that do not fill a batch of every rank.
enum class Remainder : uint32_t { kDrop = 0, kPadBatch = 1, kPartial = 2, kPadRanks = 3 };

// The largest dataset, and the largest world × batch size, that the arithmetic is made for.
inline constexpr uint64_t kMaxSamples = uint64_t{1} << 62;

// A part of a dataset, as a feed of its own: sample numbers stay the dataset's.
struct Range {
  uint64_t first = 0;
  uint64_t count = 0;
  bool operator==(const Range&) const = default;
  bool Contains(uint64_t sample) const { return sample - first < count; }  // wraps below `first`
};

// InvalidArgument: it is empty, or not within `whole`.
absl::Status Validate(const Range& range, const Range& whole);

// A batch's address in a feed. Rows at or beyond the epoch's end are padding: row i holds the
// sample at index (first + i) mod N.
struct Position {
  uint64_t epoch = 0;
  uint64_t first = 0;
  uint32_t rows = 0;
  auto operator<=>(const Position&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Position& p) {
    return H::combine(std::move(h), p.epoch, p.first, p.rows);
  }
};

// A keyed bijection on [0, samples): a different one for each (seed, epoch). A Feistel network
// (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002) with cycle walking: fewer than
// two walks expected.
class Permutation {
 public:
  // 1 ≤ samples ≤ kMaxSamples.
  Permutation(uint64_t samples, uint64_t seed, uint64_t epoch);
  // With a key of another purpose: hash.h.
  Permutation(uint64_t samples, uint64_t key);
  uint64_t operator()(uint64_t index) const;  // index < samples
  uint64_t PlaceOf(uint64_t sample) const;    // the index at which `sample` is

 private:
  static constexpr uint32_t kMaxRounds = 24;

  uint64_t Scramble(uint64_t index) const;
  uint64_t Unscramble(uint64_t index) const;

  uint64_t samples_;
  uint64_t high_mask_;
  uint64_t low_mask_;
  uint32_t low_bits_;
  uint32_t rounds_;
  uint64_t keys_[kMaxRounds];  // the first rounds_ of them
};

// The sample at `index` < samples of an epoch. Not of kShuffledInWindows: windows.h.
uint64_t SampleAt(Order order, uint64_t samples, uint64_t seed, uint64_t epoch, uint64_t index);

// The sample that stands in for `sample` when its attempts before `attempt` (≥ 1) could not be
// used: a pure function, uniform over [0, samples).
uint64_t SubstituteFor(uint64_t samples, uint64_t seed, uint64_t epoch, uint64_t sample,
                       uint32_t attempt);

// What stands in a sample's place in the key of its random choices where it may come more than once
// in an epoch: it gets another crop each time.
uint64_t DrawNumber(uint64_t place, uint64_t sample);

// Who gave an order: which of how many ranks that each gave one of its own; all ranks together,
// where it is 0 of 1.
struct GivenBy {
  uint32_t rank = 0;
  uint32_t ranks = 1;
  bool operator==(const GivenBy&) const = default;
  // A place of this order among the places of all of them, dealt out one by one.
  uint64_t Among(uint64_t place) const { return place * ranks + rank; }
};

// InvalidArgument: there is no such rank.
absl::Status Validate(const GivenBy& by);

// One rank's share of one epoch, from `consumed` samples (by all ranks together) on.
struct Share {
  uint64_t samples = 0;   // N, of the epoch
  uint64_t consumed = 0;  // c₀ ≤ N
  uint32_t world = 1;     // W
  uint32_t rank = 0;      // r < W
  uint32_t batch_size = 1;
  Remainder remainder = Remainder::kPartial;
};

// InvalidArgument says which number is impossible and what would be possible.
absl::Status Validate(const Share& share);

// How many batches this rank takes in what is left of the epoch. Equal for all ranks, but with
// kPartial.
uint64_t BatchCount(const Share& share);

struct Batch {
  uint64_t first = 0;       // c₀ + k·W·B + r·B; in kPadRanks' last step r times its rows
  uint32_t rows = 0;        // in the slot: B, or fewer for a short last batch
  uint32_t valid_rows = 0;  // that are not padding
  uint64_t consumed = 0;    // by all ranks together once they all took step k; at most N
};

// This rank's batch at step k < BatchCount.
Batch BatchAt(const Share& share, uint64_t step);

}  // namespace penstock::plan
