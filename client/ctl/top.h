// `penstockctl top`: draws screen after screen on a terminal until a key ends it; elsewhere one
// screen with the rates of a second.
#pragma once

#include <ostream>

#include "client/ctl/admin_client.h"
#include "client/ctl/command_line.h"

namespace penstock::ctl {

absl::StatusOr<int> RunTop(AdminClient& daemon, const Call& call, Colors colors, std::ostream& out);

}  // namespace penstock::ctl
