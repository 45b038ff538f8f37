#include <bit>

#include "common/base/check.h"
#include "server/plan/hash.h"
#include "server/plan/plan.h"

namespace penstock::plan {
namespace {

// Six rounds mix halves of at least four bits well. A round on smaller halves has too few different
// functions (measured: chi-square over seeds of all orders of up to six samples), so those get more
// rounds.
constexpr uint64_t kTinySamples = 256;
constexpr uint32_t kRounds = 6;
constexpr uint32_t kTinyRounds = 24;

}  // namespace

Permutation::Permutation(uint64_t samples, uint64_t seed, uint64_t epoch)
    : Permutation(samples, Key(seed, epoch, Purpose::kOrder)) {}

Permutation::Permutation(uint64_t samples, uint64_t key)
    : samples_(samples), rounds_(samples <= kTinySamples ? kTinyRounds : kRounds) {
  static_assert(kTinyRounds <= kMaxRounds && kRounds % 2 == 0 && kTinyRounds % 2 == 0);
  PENSTOCK_CHECK(samples >= 1 && samples <= kMaxSamples);
  const auto bits = static_cast<uint32_t>(std::bit_width(samples - 1));
  low_bits_ = bits / 2;
  low_mask_ = (uint64_t{1} << low_bits_) - 1;
  high_mask_ = (uint64_t{1} << (bits - low_bits_)) - 1;
  for (uint32_t round = 0; round < rounds_; ++round) {
    keys_[round] = Mix(key + (round + 1) * kGolden);
  }
}

uint64_t Permutation::operator()(uint64_t index) const {
  PENSTOCK_CHECK(index < samples_);
  do {
    index = Scramble(index);
  } while (index >= samples_);
  return index;
}

uint64_t Permutation::PlaceOf(uint64_t sample) const {
  PENSTOCK_CHECK(sample < samples_);
  do {
    sample = Unscramble(sample);
  } while (sample >= samples_);
  return sample;
}

// Addition rather than exclusive or: with XOR, halves of two or more bits would yield only even
// permutations.
uint64_t Permutation::Scramble(uint64_t index) const {
  uint64_t high = index >> low_bits_;
  uint64_t low = index & low_mask_;
  for (uint32_t round = 0; round < rounds_; round += 2) {
    high = (high + Mix(keys_[round] ^ low)) & high_mask_;
    low = (low + Mix(keys_[round + 1] ^ high)) & low_mask_;
  }
  return high << low_bits_ | low;
}

uint64_t Permutation::Unscramble(uint64_t index) const {
  uint64_t high = index >> low_bits_;
  uint64_t low = index & low_mask_;
  for (uint32_t round = rounds_; round > 0; round -= 2) {
    low = (low - Mix(keys_[round - 1] ^ high)) & low_mask_;
    high = (high - Mix(keys_[round - 2] ^ low)) & high_mask_;
  }
  return high << low_bits_ | low;
}

uint64_t SampleAt(Order order, uint64_t samples, uint64_t seed, uint64_t epoch, uint64_t index) {
  PENSTOCK_CHECK(index < samples);
  if (order == Order::kSequential) return index;
  PENSTOCK_CHECK(order == Order::kShuffled);
  return Permutation(samples, seed, epoch)(index);
}

uint64_t SubstituteFor(uint64_t samples, uint64_t seed, uint64_t epoch, uint64_t sample,
                       uint32_t attempt) {
  PENSTOCK_CHECK(samples >= 1 && attempt >= 1);
  const uint64_t key = Key(seed, epoch, Purpose::kSubstitute);
  return Scale(Mix(Mix(key ^ sample) ^ attempt), samples);
}

uint64_t DrawNumber(uint64_t place, uint64_t sample) { return Mix(Mix(place + kGolden) ^ sample); }

}  // namespace penstock::plan
