// Who waits for whom, as a pure function of what was seen of a feed over the last seconds.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/clock.h"
#include "server/feed/core/core.h"

namespace penstock::feed {

struct FlowFigures {
  bool has_data = false;  // it was looked at long enough, and batches were taken
  FillPath fill_path = FillPath::kWorkers;
  double starved = 0;          // share of the time that its trainers slept without a batch
  double copying = 0;          // of that: a full batch was on its way to the GPU meanwhile
  uint32_t workers = 0;        // of the daemon
  double workers_busy = 0;     // 0 … 1
  double readers_busy = 0;     // 0 … 1: of the workers' readers; of the row copiers likewise
  base::Duration stalled{};    // so long its source has not answered; 0: no session waits for it
  std::string stalled_reason;  // and what that was
};

enum class Bottleneck {
  kUnknown,
  kTrainer,
  kDecoding,
  kReading,
  kSource,
  kCopying,
  kWindow,  // nobody is busy, and yet batches come too late
};

struct FlowVerdict {
  Bottleneck bottleneck = Bottleneck::kUnknown;
  uint32_t more_workers = 0;  // would hide it, of kDecoding
  std::string words;          // for people
};

FlowVerdict Judge(const FlowFigures& figures);

}  // namespace penstock::feed
