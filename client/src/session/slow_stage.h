// Names the stage that a session waits for, from the daemon's report and the client's own counts.
// Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "penstock/penstock.h"

namespace penstock::client {

// The daemon's statement of what a session does or waits for. The client formats it, and does not
// judge by itself.
enum class SessionPhase {
  kUnknown,  // the daemon is of another version and does not say
  kRunning,
  kWaitingForTrainer,
  kDecoding,
  kCopying,
  kStalled,
  kEnded,
};

// The part about a Python dataset, as feed.proto's PythonProgress.
struct PythonProgress {
  bool has_host = false;
  uint32_t cores = 0;
  bool has_batch_in_hand = false, in_sample = false;
  uint64_t sample = 0;
  uint32_t worker = 0;
  int32_t worker_pid = 0;
};

// The daemon's report on a session; feed.proto defines each number.
struct Progress {
  SessionPhase phase = SessionPhase::kUnknown;
  uint64_t announced = 0, taken = 0, released = 0;
  uint32_t window = 0;
  uint32_t decoding = 0, copying = 0, on_device = 0, device_depth = 0;
  uint64_t samples_decoded = 0, samples_replaced = 0;
  uint32_t workers = 0, workers_running = 0, workers_stalled = 0;
  double workers_busy = 0;
  uint64_t samples_per_second = 0;
  uint32_t sessions = 0;
  uint64_t stalled_ms = 0;
  std::string stalled_reason = {};
  uint64_t in_hand_ms = 0;
  std::string in_hand = {};
  std::optional<PythonProgress> python = {};
};

// For example "decoding: the 4 workers are busy (97 %); 1130 samples/s are decoded for 3 sessions;
// more cores and workers would help". For an error: that the daemon does not answer.
std::string SlowStage(const absl::StatusOr<Progress>& progress);

// One sentence: who waits for whom.
std::string Verdict(const SessionStats& counted, const absl::StatusOr<Progress>& progress);

// Adds the daemon's numbers and the verdict to the client's own counts.
SessionStats Complete(SessionStats counted, const absl::StatusOr<Progress>& progress);

}  // namespace penstock::client
