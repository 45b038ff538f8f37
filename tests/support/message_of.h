#pragma once

#include <string>

#include "absl/status/status.h"

namespace penstock {

// A status' message as a std::string, for comparisons.
inline std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

}  // namespace penstock
