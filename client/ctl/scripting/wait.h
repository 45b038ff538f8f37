// `wait --for=ready`: until the daemon serves, for scripts that start it or trainers.
#pragma once

#include <functional>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "penstock/v1/admin.pb.h"

namespace penstock::ctl {

// Finds the daemon anew, because there may be none yet, and asks it. Waits for at most `left`.
using AskReady = std::function<absl::StatusOr<v1::GetStatusResponse>(base::Duration left)>;

// Asks until the daemon serves new sessions. `pause` sleeps until the next try.
//
// **Errors**: DeadlineExceeded after `timeout`, with what the daemon, or the search for it, said
// last. PermissionDenied at once, because waiting does not help.
absl::Status WaitUntilReady(const AskReady& ask, base::Duration timeout, const base::Clock& clock,
                            const std::function<void()>& pause);

}  // namespace penstock::ctl
