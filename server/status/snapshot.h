// The input of the metrics: plain numbers, copied at one moment. The daemon's composition root
// fills them in; this folder knows none of the others.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/clock.h"

namespace penstock::status {

// Arrays by delivery or state are indexed in the order of these names.
inline constexpr std::array<absl::string_view, 3> kDeliveries = {"host", "pinned", "device"};
inline constexpr std::array<absl::string_view, 7> kSessionStates = {
    "running", "waiting_for_trainer", "decoding", "copying", "stalled", "finished", "ended"};
inline constexpr std::array<absl::string_view, 4> kSlotStates = {"held", "filling", "cached",
                                                                 "free"};
inline constexpr std::array<absl::string_view, 9> kWorkerStates = {
    "starting", "idle",     "decoding", "stalled", "restarting",
    "stopped",  "retiring", "unused",   "asleep"};

inline constexpr std::array<absl::string_view, 4> kPythonWorkerStates = {"starting", "idle",
                                                                         "making", "waiting"};

// Where a dataset's feeds spend time; `stages` is indexed in the order of these names.
inline constexpr std::array<absl::string_view, 6> kStages = {"read",     "queue", "decode",
                                                             "assemble", "copy",  "consumer"};

struct StageTotals {
  uint64_t items = 0;  // samples in stages up to "decode", then batches
  base::Duration time{};
};

// A distribution of times. Buckets are not cumulative; the last one has everything beyond `limits`.
struct TimesFacts {
  struct Bucket {
    uint64_t count = 0;
    // The latest batch in it; not set: none has a session.
    struct Example {
      uint64_t session = 0;
      std::string trace_id = {};
      double seconds = 0;
    };
    std::optional<Example> example = {};
  };
  std::vector<double> limits = {};  // in seconds, ascending
  std::vector<Bucket> buckets = {};
  double sum_seconds = 0;
};

// Which distributions there are for each dataset, in the order of DatasetFigures::times.
inline constexpr std::array<absl::string_view, 6> kTimes = {
    "sample_read", "sample_decode", "batch_hand_over", "batch_copy", "batch_ready", "trainer_wait"};

struct DatasetFigures {
  uint64_t batches_decoded = 0, batches_announced = 0;
  uint64_t samples_decoded = 0, samples_replaced = 0;
  std::array<StageTotals, kStages.size()> stages = {};
  std::array<TimesFacts, kTimes.size()> times = {};
  // For its sessions: the time that they were open; that time weighted by the ready fraction of
  // their windows; and the part of it without a batch.
  base::Duration sessions_open{}, sessions_filled{}, sessions_starved{};
};

// An open dataset.
struct DatasetFacts {
  std::string name = {};
  uint64_t samples = 0;
  std::map<std::string, uint64_t> bad = {};  // number of bad samples, by reason
};

struct GpuFacts {
  std::string uuid = {}, name = {};
  bool serving = false;
  uint32_t sessions = 0, batches_ahead = 0;
  uint64_t slab_bytes = 0, slab_bytes_max = 0, context_bytes = 0;
  uint64_t copies = 0, copied_bytes = 0, copies_from_gpus = 0;
};

// What a user holds, and what was done for it since the start.
struct UserFacts {
  uint32_t user = 0;
  bool others = false;  // sums all users beyond the first ones
  uint64_t sessions = 0, pool_bytes = 0, reserved_bytes = 0;
  uint64_t workers = 0;  // processes
  uint64_t samples_decoded = 0;
  base::Duration worker_cpu{};
};

// Hosts and Python workers, and what they have made since the start.
struct PythonFacts {
  uint64_t hosts = 0;  // present
  std::array<uint64_t, kPythonWorkerStates.size()> workers = {};
  double busy = 0;  // 0 … 1: mean share of the last seconds
  uint64_t batches = 0, raised = 0, lost = 0, deaths = 0;
  base::Duration making{};
  uint64_t granted_bytes = 0;
  uint64_t refused = 0;  // that had no token of a session
};

// What only the runner's thread knows.
struct Snapshot {
  uint32_t segments = 0;
  uint64_t segment_bytes = 0;
  std::array<uint64_t, kSlotStates.size()> slots = {};
  // [delivery][state]
  std::array<std::array<uint64_t, kSessionStates.size()>, kDeliveries.size()> sessions = {};
  uint64_t max_sessions = 0;
  uint64_t window = 0, ready = 0, held = 0;  // batches over all sessions
  uint32_t feeds = 0;
  std::map<std::string, DatasetFigures> counts = {};  // by dataset name, since the start
  std::vector<DatasetFacts> datasets = {};
  std::array<uint64_t, kWorkerStates.size()> workers = {};
  uint64_t worker_restarts = 0;
  uint64_t forbidden_calls = 0;  // workers and indexers that their sandbox killed
  double workers_busy = 0;       // 0 … 1: mean share of the last moment
  uint32_t stalls = 0;           // reads that hang, or that failed and are being retried
  base::Duration longest_stall{};
  PythonFacts python = {};
  std::vector<GpuFacts> gpus = {};
  std::vector<UserFacts> users = {};  // in the order of their first arrival
};

// The kernel's counters for this process.
struct ProcessFacts {
  double cpu_seconds = 0;
  uint64_t resident_bytes = 0, open_fds = 0, max_fds = 0;
  double start_time = 0;  // seconds since 1970
};

// What is kept of photographs, and how often it was of use.
struct CheckpointFacts {
  uint64_t bytes = 0, max_bytes = 0;
  uint64_t asked = 0, found = 0, refused = 0;
};

// Finished rows that are kept, or decoded images, which are not in a folder.
struct KeptRowsFacts {
  uint64_t bytes = 0, max_bytes = 0;
  uint64_t folder_bytes = 0, folder_max_bytes = 0;
  uint64_t served = 0, refused = 0, wrong = 0;
};

// Reading from object stores, since the start.
inline constexpr std::array<absl::string_view, 4> kStoreRetries = {"slow_down", "server",
                                                                   "connection", "answer"};
struct StoreFacts {
  uint64_t requests = 0, bytes = 0, under_way = 0, window = 0, waiting = 0, halvings = 0;
  std::array<uint64_t, kStoreRetries.size()> retries = {};  // by reason
  uint64_t hedges = 0, hedges_first = 0;
  uint64_t joined = 0, parts = 0;
  uint64_t expected = 0, found = 0, refused = 0;
  uint64_t held_bytes = 0, held_max_bytes = 0;
  // Answers that took at most so many seconds, ascending; all of them, and the sum of their times.
  std::vector<std::pair<double, uint64_t>> answers_within = {};
  uint64_t answers = 0;
  double answer_seconds = 0;
  bool has_cache = false;
  uint64_t cache_bytes = 0, cache_max_bytes = 0;
  uint64_t cache_found = 0, cache_kept = 0, cache_refused = 0, cache_damaged = 0, cache_removed = 0,
           cache_failed = 0, cache_evicted = 0;
  uint64_t indexes_used = 0, indexes_refused = 0, indexes_absent = 0;  // of those beside shards
};

// What any thread can tell, even while the runner is stuck.
struct Facts {
  std::string version = {};
  uint32_t protocol_version = 0;
  base::Duration uptime{};
  bool ready = false, draining = false;
  uint64_t connections = 0, max_connections = 0;
  uint64_t sessions = 0;
  uint32_t workers = 0, workers_running = 0;  // configured; ready
  bool workers_are_sandboxed = true;
  uint64_t lost_log_lines = 0;  // that the journal did not take
  uint64_t pool_bytes = 0, reserved_bytes = 0;
  CheckpointFacts checkpoints = {};
  KeptRowsFacts kept_rows = {}, kept_images = {};
  std::optional<StoreFacts> stores = {};  // not set: the daemon reads no stores
  base::Duration since_last_pass{};       // time since the runner's last loop
  ProcessFacts process = {};
  // By method and reason, and by method; bounded by the number of methods.
  std::map<std::pair<std::string, std::string>, uint64_t> refused = {};
  std::map<std::string, uint64_t> acted = {};
  std::map<std::string, uint64_t> cut_off =
      {};  // dropped connections by reason; a fixed set of reasons
};

}  // namespace penstock::status
