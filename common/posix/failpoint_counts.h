// How often each failpoint was reached: a table in a file that processes share
// (PENSTOCK_FAILPOINTS_COUNTS in failpoint.h). Only tests read it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace penstock::posix {

struct FailpointCount {
  char name[48];                  // ends with a 0
  std::atomic<uint64_t> reached;  // chooses the term; a test may set it to 0
  std::atomic<uint64_t> acted;    // was not off
};

inline constexpr size_t kMostFailpoints = 256;  // that PENSTOCK_FAILPOINTS names
// Entries in alphabetical order; those without a name are unused.
using FailpointCounts = std::array<FailpointCount, kMostFailpoints>;

}  // namespace penstock::posix
