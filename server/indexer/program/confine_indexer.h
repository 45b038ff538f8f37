// Puts the indexer into its sandbox, before it reads the first foreign byte. It can then read files
// that are sent to it, but cannot open files, start processes or connect to anything.
#pragma once

#include "common/base/status.h"
#include "common/sandbox/sandbox.h"

namespace penstock::indexer {

// Cannot be undone. `hooks`: of a probe, which reports what would kill an indexer.
// **Requires**: the process has one thread. **Errors**: those of sandbox::Enter.
absl::StatusOr<sandbox::EnteredSandbox> ConfineIndexer(const sandbox::ProbeHooks& hooks = {});

// Limits memory and open files, and gives up privileges: all that `workers.sandbox: off` leaves.
absl::Status LimitIndexer();

}  // namespace penstock::indexer
