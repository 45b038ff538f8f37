// What status shows of Python workers and of what they make. Plain values.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "server/pyworkers/place_state.h"

namespace penstock::pyworkers {

// The oldest batch that a worker has.
struct PyWorkInHand {
  uint64_t item = 0;                 // its MakeItem's id
  std::optional<uint32_t> row = {};  // that the worker claims to make; unset: none of them
  base::TimePoint since{};           // since when it makes the batch, or could
  base::TimePoint progress{};        // when it last moved to another row
};

struct PyWorkerView {
  std::string dataset = {};  // its user's name for it
  pid_t host_pid = 0;        // as the kernel told the doorway; 0: not known
  uint32_t place = 0;        // its number, the same for its successors
  PlaceState state = PlaceState::kEmpty;
  pid_t pid = 0;                             // 0: no process has entered
  uint64_t batches = 0;                      // that were made at this place
  uint32_t starts = 0;                       // processes so far
  std::optional<PyWorkInHand> in_hand = {};  // unset: it has no batch
  std::string last_death = {};  // how the last process ended, with its last words; empty: none did
};

// What became of batches and workers. Numbers only grow.
struct MakerTotals {
  uint64_t hosts = 0;             // that entered
  uint64_t made = 0, raised = 0;  // batches; those whose code raised an exception
  uint64_t lost = 0;              // not made, because their worker or their host ended
  uint64_t deaths = 0;            // of workers whose host went on
  base::Duration making{};        // time that workers had a batch in hand, of all together

  MakerTotals& operator+=(const MakerTotals& more) {
    hosts += more.hosts;
    made += more.made;
    raised += more.raised;
    lost += more.lost;
    deaths += more.deaths;
    making += more.making;
    return *this;
  }
};

}  // namespace penstock::pyworkers
