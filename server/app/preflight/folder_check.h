// Whether other users could change what the daemon keeps in its folders. **Thread safety**: any
// thread.
#pragma once

#include <string>

#include "common/base/status.h"
#include "penstock/config/v1/config.pb.h"

namespace penstock::app {

// OK if there is no such folder yet. **Errors**: FailedPrecondition if it belongs to a user other
// than this one and root, or if all users may replace files in it.
absl::Status LookForOtherWriters(const std::string& folder);

// Logs a warning for each of `server.state_dir` and `stores.cache` that is open to others. Waits at
// most 2 s for each.
void WarnOfOtherWriters(const config::v1::Config& config);

}  // namespace penstock::app
