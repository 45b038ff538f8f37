// How many batches of its epoch a session has not taken yet. Pure.
#pragma once

#include <cstdint>

namespace penstock::feed {

// Of one rank: the first epoch may have begun in its middle.
struct EpochBatches {
  uint64_t first = 0;
  uint64_t each = 0;  // of every later one
};

// After so many were taken; 0: an epoch just ended, and none of the next one was taken.
inline uint64_t RestOfEpoch(const EpochBatches& batches, uint64_t taken) {
  if (taken < batches.first) return batches.first - taken;
  if (batches.each == 0) return 0;
  const uint64_t of_later = (taken - batches.first) % batches.each;
  if (of_later != 0) return batches.each - of_later;
  return taken == 0 ? batches.each : 0;
}

}  // namespace penstock::feed
