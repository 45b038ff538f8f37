// What the supervisor reports about its workers, for status and traces.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "server/workers/work.h"

namespace penstock::workers {

enum class WorkerState {
  kStarting,  // not yet ready
  kRunning,
  kRestarting,  // dead; the next one starts after the back-off
  kStopped,     // dead, and the restart budget is used up
  kRetiring,    // finishes its items, then ends
  kUnused,      // no process, because nobody needs one
};

// A worker slot and the worker at it.
struct WorkerView {
  // Datasets are valid until the items' outcomes are collected.
  struct InHand {
    const source::Dataset* dataset = nullptr;
    uint64_t sample = 0;
    base::TimePoint since;
  };
  uint32_t number = 0;
  pid_t pid = 0;                      // 0: no process now
  std::optional<uint32_t> user = {};  // the user that it serves or served last
  WorkerState state = WorkerState::kRunning;
  uint64_t decoded = 0;  // rows, over all processes of this worker slot
  uint64_t restarts = 0;
  double utilisation = 0;  // fraction of the last moment spent on samples
  std::optional<InHand> in_hand = {};
  std::optional<StalledRead> stalled = {};  // set while its source blocks
  // "killed by signal 11 (…) with sample 7 (/data/seven.jpg) in hand", or empty.
  std::string last_death = {};
};

// A worker that died.
struct WorkerDeath {
  uint32_t number = 0;
  pid_t pid = 0;
  std::string reason;  // as in WorkerView::last_death
  uint32_t user = 0;
  // The account of the item that it was decoding, else of the last item that it was given. 0:
  // nobody's fault.
  uint64_t account = 0;
  bool forbidden_call = false;  // its sandbox killed it
  std::string words = {};       // the beginning of what it wrote to standard error
};

// A process that has served a user.
struct ServingProcess {
  pid_t pid = 0;
  uint32_t user = 0;
};

}  // namespace penstock::workers
