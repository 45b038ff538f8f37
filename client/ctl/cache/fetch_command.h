// `penstockctl fetch` and `cache warm`: a daemon fills its cache with a dataset of an object store.
#pragma once

#include <iosfwd>
#include <string>

#include "client/ctl/admin_client.h"
#include "client/ctl/command_line.h"
#include "client/ctl/progress.h"
#include "common/base/status.h"

namespace penstock::ctl {

// The daemon that fetches. A URL is fetched by the user's private daemon, as a loader reads it,
// which is started if it does not run; a name by the daemon that serves it. **Errors**: those of
// client::FindDaemonToOperate and StartPrivateDaemon.
absl::StatusOr<std::string> FindDaemonToFetch(const Call& call);

// Returns the exit code. `progress` gets a bar, or a line every five seconds.
absl::StatusOr<int> RunFetch(AdminClient& daemon, const Call& call, Progress::Style style,
                             std::ostream& out, std::ostream& progress);

}  // namespace penstock::ctl
