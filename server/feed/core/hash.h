// The hash behind fingerprints and the names of orders, which stand in states that people keep: a
// change makes every one of them stale. Pure; any thread.
#pragma once

#include <cstdint>

namespace penstock::feed {

// The hash of some words and one more: SplitMix64's finaliser (Steele, Lea, Flood: Fast splittable
// pseudorandom number generators, 2014), folded over the words in order. Begins at 0.
inline uint64_t HashOn(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) + 0x9E3779B97F4A7C15;
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EB;
  return hash ^ (hash >> 31);
}

}  // namespace penstock::feed
