// Whether a configuration's values are possible: each by itself, and those that depend on each
// other.
#pragma once

#include "common/base/status.h"
#include "penstock/config/v1/config.pb.h"
#include "server/app/config/config_lines.h"

namespace penstock::app {

// InvalidArgument for the first value that is not, with its line, what was got and what was wanted.
absl::Status CheckConfig(const config::v1::Config& config, const ConfigLines& lines);

}  // namespace penstock::app
