// `version`: the versions of penstockctl and of the daemon, which must understand each other.
#pragma once

#include <string>

#include "client/ctl/command_line.h"
#include "common/base/status.h"
#include "penstock/v1/admin.pb.h"

namespace penstock::ctl {

// For people, or for programs. A daemon that did not answer is left out.
std::string ShowVersions(const absl::StatusOr<v1::GetStatusResponse>& daemon, Output output);

}  // namespace penstock::ctl
