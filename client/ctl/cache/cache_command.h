// `penstockctl cache list|verify|clear`: looks after the folder that keeps what was read from
// object stores. No daemon is asked; list and verify may run beside one.
#pragma once

#include <iosfwd>

#include "client/ctl/command_line.h"
#include "common/base/status.h"

namespace penstock::ctl {

// Returns the exit code: 1 if verify has found damage. The folder is the call's, else
// $PENSTOCK_STORE_CACHE. **Errors**: those of store::SurveyCache, VerifyCache and ClearCache.
absl::StatusOr<int> RunCacheCommand(const Call& call, std::ostream& out, std::ostream& progress);

}  // namespace penstock::ctl
