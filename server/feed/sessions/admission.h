// Limits on sessions, in total and per user. Pure.
#pragma once

#include <cstdint>

#include "common/base/status.h"

namespace penstock::feed {

// May change while the engine runs.
struct Admission {
  uint32_t max_sessions = 256;
  uint32_t max_sessions_per_user = 256;
  double max_pool_per_user = 1;     // fraction of the pool for windows
  double max_workers_per_user = 1;  // fraction of the workers that decode at once
};

// A request for a session, and what already exists.
struct Applicant {
  uint32_t user = 0;
  uint64_t window_bytes = 0;  // of the requested session
  // The user's: open sessions and their windows, and memory of closed sessions whose reads block.
  uint64_t sessions = 0, open_window_bytes = 0, left_behind_bytes = 0;
  uint64_t all_sessions = 0;  // of all users
  uint64_t pool_bytes = 0;
};

// **Errors**: ResourceExhausted names the limit, the numbers, and what to do.
absl::Status Admit(const Admission& limits, const Applicant& applicant);

// **Errors**: FailedPrecondition if a state has another fingerprint than the feed. 0: not checked.
absl::Status CheckFingerprint(uint64_t expected, uint64_t fingerprint);

}  // namespace penstock::feed
