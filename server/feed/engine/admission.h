// Who comes in, and how much one user may have, whatever others leave. Pure: figures in, a verdict
// out.
#pragma once

#include <cstdint>

#include "common/base/status.h"

namespace penstock::feed {

// May change while the engine runs.
struct Admission {
  uint32_t max_sessions = 256;
  uint32_t max_sessions_per_user = 256;
  double max_pool_per_user = 1;     // share of the pool, for windows
  double max_workers_per_user = 1;  // share of the workers that decode for it at once
};

// Who asks for a session, and what there is already.
struct Applicant {
  uint32_t user = 0;
  uint64_t window_bytes = 0;  // of the session asked for
  // Of the user: what is open, and memory of closed sessions whose reads do not come back.
  uint64_t sessions = 0, open_window_bytes = 0, left_behind_bytes = 0;
  uint64_t all_sessions = 0;  // of everybody
  uint64_t pool_bytes = 0;
};

// ResourceExhausted says which limit, the numbers, and what to do.
absl::Status Admit(const Admission& limits, const Applicant& applicant);

// FailedPrecondition if a state says another fingerprint than the feed has. 0: it says none.
absl::Status CheckFingerprint(uint64_t expected, uint64_t fingerprint);

}  // namespace penstock::feed
