// Both sides of a hand-over, in two processes: this process announces batches as the daemon does
// (HostDelivery on a control page), and a child takes and releases them.
//
// Batches come in blocks. The consumer takes a block once all of it is announced, so that every
// batch is ready when it is requested. The next block follows after the last release.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/base/status.h"

namespace penstock::bench {

inline constexpr uint32_t kBlock = 64;  // batches
inline constexpr uint32_t kMostBlocks = 4096;

enum class Consumer {
  kClient,  // the client library's session
  kBare,    // loads and stores on the same page, without checks
};

enum class Mode {
  kTimed,         // measures nanoseconds
  kCounted,       // counts system calls
  kCountedAsleep  // the same while the daemon sleeps, so that each release must notify it
};

struct Handoffs {
  Consumer consumer = Consumer::kClient;
  Mode mode = Mode::kTimed;
  uint32_t blocks = 0;  // at most kMostBlocks
};

// kTimed: the median over the blocks of the nanoseconds of one hand-over. Otherwise: system calls
// for one hand-over.
absl::StatusOr<double> MeasureHandoffs(const Handoffs& handoffs);

}  // namespace penstock::bench
