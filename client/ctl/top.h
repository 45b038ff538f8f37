// `penstockctl top`: on a terminal, redraws the screen until a key ends it; elsewhere, prints one
// screen with the rates of one second.
#pragma once

#include <ostream>

#include "client/ctl/admin_client.h"
#include "client/ctl/command_line.h"

namespace penstock::ctl {

absl::StatusOr<int> RunTop(AdminClient& daemon, const Call& call, Colors colors, std::ostream& out);

}  // namespace penstock::ctl
