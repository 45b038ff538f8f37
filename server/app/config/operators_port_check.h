// Checks the keys of the operators' port: server.admin_address and its files of TLS. Pure.
#pragma once

#include "common/base/status.h"
#include "penstock/config/v1/config.pb.h"
#include "server/app/config/config_lines.h"

namespace penstock::app {

// **Errors**: InvalidArgument names file and line of a key that is wrong by itself, that misses
// another one, or that has no effect.
absl::Status CheckOperatorsPort(const config::v1::Server& server, const ConfigLines& lines);

}  // namespace penstock::app
