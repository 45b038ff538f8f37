// Records a trace of the daemon and writes it to a file or to standard output.
#pragma once

#include <ostream>

#include "client/ctl/admin_client.h"
#include "client/ctl/command_line.h"

namespace penstock::ctl {

// Writes a summary, and how to open the trace, to `said`. Returns the exit code.
absl::StatusOr<int> WriteTrace(AdminClient& daemon, const Call& call, std::ostream& out,
                               std::ostream& said);

}  // namespace penstock::ctl
