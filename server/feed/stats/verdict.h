// Finds the bottleneck of a feed from its figures of the last seconds. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "server/feed/core/core.h"

namespace penstock::feed {

// For kPython: those who make a dataset's batches.
struct MakingFigures {
  bool has_host = true;
  uint32_t ready = 0;    // workers that can make a batch
  double occupancy = 0;  // ready fraction of the sessions' windows
};

// Of datasets in object stores: how fast the daemon reads these, mean of the last seconds.
struct StoreFlow {
  double bytes_per_second = 0;
  double under_way = 0;  // requests
};

struct FlowFigures {
  bool has_data = false;  // observed long enough, and batches were taken
  FillPath fill_path = FillPath::kWorkers;
  double starved = 0;       // fraction of time that its trainers slept without a batch
  double starving = 0;      // the same, over the last third of a second
  double copying = 0;       // of starved, while a full batch was being copied to the GPU
  uint32_t workers = 0;     // the daemon's; for kPython, the dataset's Python workers
  double workers_busy = 0;  // 0 … 1, of those workers
  double readers_busy = 0;  // 0 … 1: the workers' readers, or the row copiers
  MakingFigures making = {};
  uint32_t cores = 0;          // of the machine; 0: not known
  uint32_t wanted_by_all = 0;  // most workers that the verdict on another feed wants in addition
  std::optional<StoreFlow> store = {};  // not set: the dataset's files are local
  base::Duration stalled{};  // how long its source has not answered; 0: no session waits for it
  std::string stalled_reason = {};  // what was being read
};

enum class Bottleneck {
  kUnknown,
  kTrainer,
  kDecoding,
  kMaking,  // by Python workers
  kReading,
  kSource,
  kStore,
  kCopying,
  kWindow,  // nobody is busy, but batches come too late
};

struct FlowVerdict {
  Bottleneck bottleneck = Bottleneck::kUnknown;
  // For kDecoding and kMaking: how many more would remove the bottleneck. For kDecoding, cores do
  // not limit it.
  uint32_t more_workers = 0;
  std::string words;  // for display; never advises more workers than cores
};

FlowVerdict Judge(const FlowFigures& figures);

// The verdicts on feeds that share the daemon's workers. All advise one number of these, the one
// that helps every feed, so that they do not contradict each other.
std::vector<FlowVerdict> JudgeTogether(std::vector<FlowFigures> feeds);

}  // namespace penstock::feed
