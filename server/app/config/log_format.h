// Whether a configuration asks for JSON logs, even if it is otherwise invalid, so that the error
// about it is logged as JSON too.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace penstock::app {

// Looks for the key `format: json` in the section `log`. Pure.
bool AsksForJsonLogs(absl::string_view yaml);

// The same for a file; false if it cannot be read.
bool FileAsksForJsonLogs(const std::string& path);

}  // namespace penstock::app
