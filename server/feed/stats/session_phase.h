// What a session does or waits for now; nothing else decides this. Status and metrics show it, a
// waiting trainer gets it (feed.proto's SessionPhase), and a feed's source counts as stalled only
// while one of its sessions waits for it. Pure.
#pragma once

#include <cstdint>

#include "server/feed/core/core.h"

namespace penstock::feed {

enum class SessionPhase {
  kRunning,            // batches are ready
  kWaitingForTrainer,  // it has all batches that it may have, and has released none
  kDecoding,           // workers decode for it, or for others that are served first
  kCopying,            // rows are copied to it, or a full batch to its GPU
  kStalled,            // its source does not respond
  kFinished,
  kEnded
};

struct SessionFacts {
  bool ended = false;     // failed, detached or drained
  bool finished = false;  // all batches have been announced
  uint64_t ready = 0;     // batches that its consumer has not yet taken
  uint64_t held = 0;      // part of its window: announced by the core and not released
  uint32_t window = 0;
  // For device delivery: full batches that are not on the GPU, and its slots there.
  uint64_t to_copy = 0;
  uint32_t on_device = 0, device_depth = 0;
  bool source_stalled = false;  // for a second or more
  FillPath fill_path = FillPath::kWorkers;
};

SessionPhase PhaseOf(const SessionFacts& facts);

}  // namespace penstock::feed
