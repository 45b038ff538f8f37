// A batch that a Python worker is to make, and how that ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/shm/python_channel.h"
#include "server/pyworkers/limits.h"
#include "server/pyworkers/place_state.h"

namespace penstock::pyworkers {

// Where a batch is in an iterable dataset. Each stream is iterated at the place of its number, and
// from there on by the same process only.
struct StreamPart {
  uint64_t feed = 0;    // with the epoch: which iteration
  uint32_t stream = 0;  // less than kMaxPythonWorkers
  uint64_t unit = 0;    // grows along the stream
};

struct MakeItem {
  uint64_t id = 0;                // for the caller; not interpreted
  shm::MakeRequest request = {};  // its sequence and kind are set when it is sent
  // How long the worker may take for a row, or for what follows the last one.
  base::Duration timeout = kLongestStandstill;
  std::optional<StreamPart> part = {};  // set for iterable datasets
};

enum class MakeEnd {
  kMade,    // the batch is in the slot
  kRaised,  // user code raised an exception, which is in the slot instead
  kStrike,  // its worker died or was killed over it
  kLost,    // not made, through no fault of its own: another worker may make it
  // Not made, and nobody else can: the process that iterated its stream has ended.
  kStreamLost,
};

// The result of an item; each has exactly one. Whatever its end, nobody writes the slot any more.
struct MakeResult {
  uint64_t id = 0;
  MakeEnd end = MakeEnd::kMade;
  uint64_t bytes = 0;  // kMade, kRaised: in the slot, from data_offset on; 1 … granted
  // kRaised: of the sample that raised. kStrike: the worker's claim about which one it had in hand.
  // nullopt: none of them.
  std::optional<uint32_t> row = {};
  KillCause cause = KillCause::kNone;  // kStrike: why the daemon killed the worker, if it did
  base::TimePoint given{}, ended{};
  base::Duration taken{};  // how long it occupied the worker, by the daemon's clock
  // kStrike, kStreamLost: how the worker ended, and what it wrote at its end. Printable.
  std::string how = {}, words = {};
};

// A worker needs more room than the item's request granted, and waits for it.
struct RoomNeed {
  uint64_t id = 0;
  uint64_t bytes = 0;    // from data_offset on; more than granted
  uint64_t granted = 0;  // so far
};

}  // namespace penstock::pyworkers
