// What status shows: plain values, copied on the runner's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/export/gpus.h"
#include "server/feed/core/core.h"
#include "server/feed/stats/dataset_counts.h"
#include "server/feed/stats/flow.h"
#include "server/feed/stats/session_phase.h"
#include "server/feed/stats/user_counts.h"
#include "server/feed/stats/verdict.h"
#include "server/pool/pool.h"
#include "server/pyworkers/py_worker_view.h"

namespace penstock::feed {

struct FeedInfo {
  uint64_t fingerprint = 0;
  std::string dataset;
  uint32_t user = 0;
  uint32_t sessions = 0;
  FeedView counts;
  StageSums stages = {};
  double occupancy = 0, starved = 0;
  std::string verdict = {};
  Bottleneck bottleneck = Bottleneck::kUnknown;
};

struct GpuInfo {
  exporting::GpuView view;
  uint32_t batches_ahead = 0;  // copied and not yet taken
};

struct EngineView {
  pool::Usage pool;
  SlotCounts slots;
  uint64_t samples_decoded = 0;
  uint64_t samples_replaced = 0;
  std::vector<FeedInfo> feeds;
  std::vector<GpuInfo> gpus;
  uint32_t workers_asleep = 0;   // in addition to those at worker slots
  uint64_t forbidden_calls = 0;  // workers that their sandbox killed
  absl::Status status;           // not OK: why nothing is delivered any more
  bool draining = false;
};

// Totals since the start, including everything that has ended.
struct TotalsView {
  std::map<std::string, DatasetTotals> by_dataset;  // see dataset_counts.h for the names
  uint64_t worker_restarts = 0;
  uint64_t forbidden_calls = 0;  // workers that their sandbox killed
  uint32_t max_sessions = 0;     // current; may change
  // Row copiers' reads that fail and are retried, or block, and how long the oldest has done so.
  uint32_t stalled_runs = 0;
  base::Duration longest_stall{};
};

// A user's current state, and counters since the start.
struct UserView {
  UserTotals totals;
  uint32_t sessions = 0;
  uint32_t workers = 0;  // processes, including those asleep
  uint64_t pool_bytes = 0, reserved_bytes = 0;
};

// The runner's health, as of its last tick.
struct Vitals {
  uint64_t passes = 0;       // iterations of its loop, live; stops if the runner is stuck
  base::TimePoint ticked{};  // time of the last tick; ten times a second
  uint64_t sessions = 0;
  uint32_t workers = 0, workers_running = 0;
  uint64_t reserved_bytes = 0, pool_bytes = 0;
  bool draining = false;
  uint64_t not_drained = 0;  // sessions that a drain would wait for
};

enum class DeliveryKind { kHost, kPinned, kDevice };

struct SessionInfo {
  uint64_t id = 0;
  SessionPhase phase = SessionPhase::kRunning;
  std::string name = {}, client = {}, dataset = {}, order = {};
  std::string state = {};  // the phase as text
  uint32_t user = 0;
  int32_t pid = 0;
  uint64_t fingerprint = 0;
  uint32_t rank = 0, world = 1, batch_size = 0, window = 0;
  uint64_t epoch = 0, consumed = 0;
  uint64_t announced = 0, taken = 0, released = 0;
  uint64_t rest_of_epoch = 0;  // batches not taken; only set by NotDrained
  DeliveryKind delivery = DeliveryKind::kHost;
  std::string delivery_reason = {};
  double gpu_share = 0;  // of the samples, whose files the trainer's GPU decodes
  double starved = 0;    // fraction of the last seconds that the trainer slept without a batch
  // For device delivery.
  std::string gpu = {};
  cuda::HandleKind handle = cuda::HandleKind::kIpc;
  uint32_t device_depth = 0, on_device = 0;
};

// Those who make batches of Python datasets, and what they have made since the start.
struct MakersView {
  uint32_t hosts = 0;  // present
  pyworkers::MakerTotals totals = {};
  std::vector<pyworkers::PyWorkerView> workers = {};  // of present hosts
  double busy = 0;                                    // 0 … 1, over the last seconds
  uint64_t granted_bytes = 0;                         // of the pool, for made batches
  uint64_t refused = 0;                               // hosts and workers without a token
};

// What a session of a Python dataset waits for.
struct PythonProgress {
  bool has_host = false;
  uint32_t cores = 0;  // of the machine; 0: not known
  // Its batch in hand that has made no progress for longest.
  bool has_batch_in_hand = false;
  bool in_sample = false;  // else between samples: `sample` is the batch's first
  uint64_t sample = 0;
  uint32_t worker = 0;     // its place
  int64_t worker_pid = 0;  // 0: not known
};

// What a session waits for: facts for its consumer, restricted to its own dataset.
struct SessionProgress {
  SessionPhase phase = SessionPhase::kRunning;
  uint64_t announced = 0, taken = 0, released = 0;
  uint32_t window = 0;
  uint32_t decoding = 0;                               // batches
  uint32_t copying = 0;                                // full batches that are not yet on its GPU
  uint32_t on_device = 0, device_depth = 0;            // for device delivery
  uint64_t samples_decoded = 0, samples_replaced = 0;  // of its feed
  uint32_t workers = 0, workers_running = 0, workers_stalled = 0;
  double workers_busy = 0;  // 0 … 1, over the last second or so
  uint64_t samples_per_second = 0;
  uint32_t sessions = 0;
  // The oldest of each; 0: none.
  base::Duration stalled{}, in_hand{};
  std::string stalled_reason, in_hand_path;
  std::optional<PythonProgress> python = {};  // for a Python dataset
};

}  // namespace penstock::feed
