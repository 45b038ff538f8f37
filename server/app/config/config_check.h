// Validates a configuration's values, each alone and in combination.
#pragma once

#include "common/base/status.h"
#include "penstock/config/v1/config.pb.h"
#include "server/app/config/config_lines.h"

namespace penstock::app {

// **Errors**: InvalidArgument for the first invalid value, with its line, the value and what was
// wanted.
absl::Status CheckConfig(const config::v1::Config& config, const ConfigLines& lines);

}  // namespace penstock::app
