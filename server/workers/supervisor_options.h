// The supervisor's options.
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
#include "server/workers/queue/channel.h"
#include "server/workers/restart.h"

namespace penstock::workers {

inline constexpr uint32_t kMaxWorkers = 1024;

// Limit for blocked reads and reads with `aside`. Beyond it, blocked reads hold up their queues.
inline constexpr size_t kMaxLoose = 128;

struct SupervisorOptions {
  uint32_t count = 1;  // workers
  // Workers start with their first rows rather than at once. Then it shows late if they cannot.
  bool start_when_needed = false;
  std::string program = {};  // empty: penstock-worker in the folder of the running program
  uint32_t user = 0;         // user for whom workers are started before there are any rows
  // Items that a queue holds in addition to the worker's current one; more if they take less
  // than `ahead` together.
  uint32_t read_ahead = 2;
  base::Duration ahead = std::chrono::milliseconds(1);
  // Input memory per worker, touched as needed; ≥ limits.max_bytes.
  uint64_t arena_bytes = 32u << 20;
  uint64_t memory_bytes = base::kGiB;  // limit for a worker's own allocations
  decode::SampleLimits limits = {};
  SandboxMode sandbox = SandboxMode::kOn;
  // The time in which a new worker must become ready.
  base::Duration start_timeout = std::chrono::seconds(10);
  base::Duration sample_timeout = std::chrono::seconds(30);
  base::Duration patience = source::kPatience;           // a read that takes longer is overdue
  base::Duration keep_idle = std::chrono::seconds(30);   // how long a worker without rows is kept
  base::Duration keep_asleep = std::chrono::seconds(5);  // how long a sleeping worker is kept
  // While several users compete for worker slots: the maximum time that the items given to a slot
  // may take, except for a single longer sample.
  base::Duration turn = std::chrono::milliseconds(25);
  // How long a worker slot that was asked to give way may stay occupied, before its worker is set
  // aside and the slot serves another user.
  base::Duration give_way_within = std::chrono::seconds(1);
  base::BackOff::Options back_off{.first = std::chrono::milliseconds(100),
                                  .longest = std::chrono::seconds(10)};
  // Limits deaths that no sample and no user caused: of workers that had no item yet, or never
  // became ready. A worker slot stays down after this many restarts within the window, or after
  // this many consecutive workers that never became ready (back-off would otherwise keep these
  // below the limit for ever).
  RestartBudget::Options budget{.restarts = 20, .window = std::chrono::minutes(1)};
};

// **Errors**: InvalidArgument names the number and its range.
absl::Status Validate(const SupervisorOptions& options);
absl::Status ValidateCount(uint32_t count);

}  // namespace penstock::workers
