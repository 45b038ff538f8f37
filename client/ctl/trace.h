// Takes a trace of the daemon and writes it into a file, or to standard output.
#pragma once

#include <ostream>

#include "client/ctl/admin_client.h"
#include "client/ctl/command_line.h"

namespace penstock::ctl {

// What was written, and where to look at it, goes to `said`. The exit code.
absl::StatusOr<int> WriteTrace(AdminClient& daemon, const Call& call, std::ostream& out,
                               std::ostream& said);

}  // namespace penstock::ctl
