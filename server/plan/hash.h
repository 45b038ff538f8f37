// The mixing function behind every order and substitution. Pure; any thread.
#pragma once

#include <cstdint>

namespace penstock::plan {

inline constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;

// The use of a key: different uses never share a key.
enum class Purpose : uint64_t {
  kOrder = 1,
  kSubstitute = 2,
  kShards = 3,
  kWindow = 4,
  kMixture = 5,
};

// A bijection on 64 bits: SplitMix64's finaliser (Steele, Lea, Flood, "Fast Splittable Pseudorandom
// Number Generators", 2014; Stafford's variant 13).
inline uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

inline uint64_t Key(uint64_t seed, uint64_t epoch, Purpose purpose) {
  return Mix(Mix(Mix(seed + kGolden) ^ epoch) ^ static_cast<uint64_t>(purpose));
}

// Scales `hash` to [0, limit): the high half of their product.
inline uint64_t Scale(uint64_t hash, uint64_t limit) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(hash) * limit) >> 64);
}

// Extends the hash of some words by one more; the hash of no words is 0. Fingerprints and the names
// of given orders are made with it, and users keep both in states, so a change would invalidate
// them.
inline uint64_t HashOn(uint64_t hash, uint64_t word) { return Mix((hash ^ word) + kGolden); }

}  // namespace penstock::plan
