// Opens a session again after its daemon was lost: tries for as long as the daemon may come back,
// and accepts only the same feed.
#pragma once

#include <functional>
#include <thread>

#include "client/src/core/grant.h"
#include "client/src/session/ready_batches.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace penstock::client {

// Time, so that tests need not wait.
struct ReopenClock {
  std::function<base::TimePoint()> now = base::Now;
  std::function<void(base::Duration)> sleep = [](base::Duration time) {
    std::this_thread::sleep_for(time);
  };
};

// Calls `open` until it succeeds, fails for good, or `deadline` is near; the pauses in between
// double from 50 ms to 1 s.
//
// **Errors**: Unavailable: the daemon did not come back in time. FailedPrecondition and DataLoss:
// it serves another feed or other files than `before` was granted. Others are those of `open`.
absl::StatusOr<Opened> Reopen(const std::function<absl::StatusOr<Opened>()>& open,
                              const Grant& before, base::TimePoint deadline,
                              const ReopenClock& clock = {});

}  // namespace penstock::client
