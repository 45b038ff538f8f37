// Which sample is at which position: pure arithmetic, O(1) in time and memory for datasets of any
// size. README.md specifies every number here, so that anyone can reproduce an order. Any thread.
#pragma once

#include <compare>
#include <cstdint>

#include "common/base/status.h"

namespace penstock::plan {

// The order of a feed's samples within an epoch. The numbers are part of fingerprints; 2 stands for
// an order given by a client.
enum class Order : uint32_t { kSequential = 0, kShuffled = 1, kShuffledInWindows = 3 };

// What happens to the last samples of an epoch if they do not fill a batch for every rank.
enum class Remainder : uint32_t { kDrop = 0, kPadBatch = 1, kPartial = 2, kPadRanks = 3 };

// The largest dataset, and the largest world size × batch size, that the arithmetic supports.
inline constexpr uint64_t kMaxSamples = uint64_t{1} << 62;

// A part of a dataset, as a feed of its own. Samples keep their numbers in the dataset.
struct Range {
  uint64_t first = 0;
  uint64_t count = 0;
  bool operator==(const Range&) const = default;
  bool Contains(uint64_t sample) const { return sample - first < count; }  // wraps below `first`
};

// **Errors**: InvalidArgument if it is empty or not within `whole`.
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

// A keyed bijection on [0, samples), different for each (seed, epoch): a Feistel network (Black and
// Rogaway, "Ciphers with Arbitrary Finite Domains", 2002) with cycle walking, fewer than two walks
// expected.
class Permutation {
 public:
  // 1 ≤ samples ≤ kMaxSamples.
  Permutation(uint64_t samples, uint64_t seed, uint64_t epoch);
  // With a key made for another purpose (hash.h).
  Permutation(uint64_t samples, uint64_t key);
  uint64_t operator()(uint64_t index) const;  // index < samples
  uint64_t PlaceOf(uint64_t sample) const;    // the inverse: the index of `sample`

 private:
  static constexpr uint32_t kMaxRounds = 24;

  uint64_t Scramble(uint64_t index) const;
  uint64_t Unscramble(uint64_t index) const;

  uint64_t samples_;
  uint64_t high_mask_;
  uint64_t low_mask_;
  uint32_t low_bits_;
  uint32_t rounds_;
  uint64_t keys_[kMaxRounds];  // the first `rounds_` are used
};

// The sample at `index` < samples of an epoch, for kSequential and kShuffled; windows.h also
// handles kShuffledInWindows.
uint64_t SampleAt(Order order, uint64_t samples, uint64_t seed, uint64_t epoch, uint64_t index);

// The substitute for `sample` at this attempt (≥ 1), after the sample itself and all earlier
// attempts could not be used: a pure function, uniform over [0, samples).
uint64_t SubstituteFor(uint64_t samples, uint64_t seed, uint64_t epoch, uint64_t sample,
                       uint32_t attempt);

// Replaces the sample number in the key of random choices where a sample may occur more than once
// in an epoch, so that each occurrence gets another crop.
uint64_t DrawNumber(uint64_t place, uint64_t sample);

// Who gave an order: rank `rank` of `ranks`, each of which gave its own; {0, 1} is one order for
// all ranks.
struct GivenBy {
  uint32_t rank = 0;
  uint32_t ranks = 1;
  bool operator==(const GivenBy&) const = default;
  // The index of a position of this order in the combined order, which deals out positions to ranks
  // one by one.
  uint64_t Among(uint64_t place) const { return place * ranks + rank; }
};

// **Errors**: InvalidArgument if there is no such rank.
absl::Status Validate(const GivenBy& by);

// One rank's share of one epoch, after all ranks together have consumed `consumed` samples.
struct Share {
  uint64_t samples = 0;   // N: samples in the epoch
  uint64_t consumed = 0;  // c₀ ≤ N
  uint32_t world = 1;     // W
  uint32_t rank = 0;      // r < W
  uint32_t batch_size = 1;
  Remainder remainder = Remainder::kPartial;
};

// **Errors**: InvalidArgument says which number is impossible and what is allowed.
absl::Status Validate(const Share& share);

// How many batches this rank takes from the rest of the epoch. Equal for all ranks, except with
// kPartial.
uint64_t BatchCount(const Share& share);

struct Batch {
  uint64_t first = 0;       // c₀ + k·W·B + r·B; r times `rows` in kPadRanks' last step
  uint32_t rows = 0;        // rows in the slot: B, or fewer for a short last batch
  uint32_t valid_rows = 0;  // rows that are not padding
  uint64_t consumed = 0;    // by all ranks together after step k; at most N
};

// This rank's batch at step k < BatchCount.
Batch BatchAt(const Share& share, uint64_t step);

}  // namespace penstock::plan
