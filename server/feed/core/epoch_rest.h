// How many batches of its epoch a session has not yet taken. Pure.
#pragma once

#include <cstdint>

namespace penstock::feed {

// For one rank; the first epoch may have begun in the middle.
struct EpochBatches {
  uint64_t first = 0;
  uint64_t each = 0;  // per later epoch
};

// Batches left after `taken` batches. 0: an epoch has just ended, and nothing of the next was
// taken.
inline uint64_t RestOfEpoch(const EpochBatches& batches, uint64_t taken) {
  if (taken < batches.first) return batches.first - taken;
  if (batches.each == 0) return 0;
  const uint64_t of_later = (taken - batches.first) % batches.each;
  if (of_later != 0) return batches.each - of_later;
  return taken == 0 ? batches.each : 0;
}

}  // namespace penstock::feed
