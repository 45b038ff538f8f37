// How the supervisor runs its workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/back_off.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/units.h"
#include "server/decode/core/spec.h"
#include "server/source/core/retry_policy.h"
#include "server/workers/restart.h"

namespace penstock::workers {

inline constexpr uint32_t kMaxWorkers = 1024;

// Reads that do not come back, and such as are made aside. Beyond them queues are held up.
inline constexpr size_t kMaxLoose = 128;

struct SupervisorOptions {
  uint32_t count = 1;                // workers
  std::string program;               // empty: penstock-worker beside the running program
  uint32_t user = 0;                 // for whom workers are started before anybody wants any
  uint32_t read_ahead = 2;           // items a queue holds besides the one in its worker's hand
  uint64_t arena_bytes = 32u << 20;  // input memory a worker, touched as needed; ≥ limits.max_bytes
  uint64_t memory_bytes = base::kGiB;  // that a worker may allocate for itself
  decode::SampleLimits limits;
  base::Duration start_timeout = std::chrono::seconds(10);  // until a new worker says it is ready
  base::Duration sample_timeout = std::chrono::seconds(30);
  base::Duration patience = source::kPatience;          // a read that takes longer is overdue
  base::Duration keep_idle = std::chrono::seconds(30);  // a worker that has nothing to do
  base::Duration keep_asleep = std::chrono::seconds(5);  // … while another user has its worker slot
  // While several users want worker slots: so long a worker slot is taken by what it was given, at
  // most, but for a single sample that takes longer.
  base::Duration turn = std::chrono::milliseconds(25);
  base::BackOff::Options back_off{.first = std::chrono::milliseconds(100),
                                  .longest = std::chrono::seconds(10)};
  // Of deaths that are no sample's and no user's: of workers that were never given anything, or
  // were never ready. A worker slot stays down after so many restarts within the window; or,
  // because pauses would keep it below that for ever, after so many in a row that were never ready.
  RestartBudget::Options budget{.restarts = 20, .window = std::chrono::minutes(1)};
};

// **Errors**: InvalidArgument names the number and what is possible.
absl::Status Validate(const SupervisorOptions& options);
absl::Status ValidateCount(uint32_t count);

}  // namespace penstock::workers
