// What status shows of a Python worker. Plain values.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "server/pyworkers/place_state.h"

namespace penstock::pyworkers {

struct PyWorkerView {
  std::string dataset = {};  // its user's name for it
  pid_t host_pid = 0;        // as the kernel told the doorway; 0: not known
  uint32_t place = 0;        // its number, the same for its successors
  PlaceState state = PlaceState::kEmpty;
  pid_t pid = 0;                                      // 0: no process has entered
  uint64_t batches = 0;                               // that were made at this place
  uint32_t starts = 0;                                // processes so far
  std::optional<base::TimePoint> in_hand_since = {};  // of its oldest batch; unset: it has none
  std::string last_death = {};  // how the last process ended, with its last words; empty: none did
};

}  // namespace penstock::pyworkers
