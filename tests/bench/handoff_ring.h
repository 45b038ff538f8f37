// The two sides of a hand-over, in two processes: this one announces batches as the daemon does
// (HostDelivery on a control page), a child takes and releases them.
//
// Batches come in blocks. The consumer takes a block once all of it is announced, so that each
// batch is ready when it is asked for; the next block follows when the last one is released.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/base/status.h"

namespace penstock::bench {

inline constexpr uint32_t kBlock = 64;  // batches
inline constexpr uint32_t kMostBlocks = 4096;

enum class Consumer {
  kClient,  // the client library's session
  kBare,    // loads and stores on the same page, nothing checked, nothing kept
};

enum class Mode {
  kTimed,         // nanoseconds
  kCounted,       // system calls
  kCountedAsleep  // … while the daemon says that it sleeps, and so wants to be rung at each release
};

struct Handoffs {
  Consumer consumer = Consumer::kClient;
  Mode mode = Mode::kTimed;
  uint32_t blocks = 0;  // at most kMostBlocks
};

// kTimed: the median over the blocks of a hand-over's nanoseconds. Otherwise system calls a
// hand-over.
absl::StatusOr<double> MeasureHandoffs(const Handoffs& handoffs);

}  // namespace penstock::bench
