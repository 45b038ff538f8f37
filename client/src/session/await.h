// Waits for what comes next in a session.
//
// **Thread safety**: the session's thread.
#pragma once

#include <optional>

#include "client/src/session/ready_batches.h"
#include "client/src/session/waits.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace penstock::client {

enum class News {
  kNone,        // nothing came in time
  kBatch,       // there is a batch to take
  kEnd,         // every batch was taken, and the daemon has ended the session
  kHoarding,    // for a second, the trainer has held all the batches that it may hold
  kHostWanted,  // nothing is ready, and the daemon wants the trainer to fork a host
};

// The news that is available now, if any.
std::optional<News> LookFor(const ReadyBatches& batches);

// Waits until `deadline` and counts the time in `waits`. Does not read the clock if there is
// something at once. `epoch`: where the session stands. **Errors**: the daemon is gone.
absl::StatusOr<News> Await(ReadyBatches& batches, Waits& waits, base::TimePoint deadline,
                           uint64_t epoch);

// kResourceExhausted: the trainer holds all the batches that it may hold.
Status HoardingStatus(const ReadyBatches& batches);

}  // namespace penstock::client
