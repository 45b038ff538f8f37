// Which stage a session waits for, in words: from what the daemon says and what was counted here.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "penstock/penstock.h"

namespace penstock::client {

// What the daemon says of a session; feed.proto says what each number is.
struct Progress {
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
};

// "decoding: all 4 workers are busy; they decode 1130 samples/s for 3 sessions". Of an error: that
// the daemon does not answer.
std::string SlowStage(const absl::StatusOr<Progress>& progress);

// One sentence on who holds up whom.
std::string Verdict(const SessionStats& counted, const absl::StatusOr<Progress>& progress);

// The counted with what the daemon says, and the verdict.
SessionStats Complete(SessionStats counted, const absl::StatusOr<Progress>& progress);

}  // namespace penstock::client
