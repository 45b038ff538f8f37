#pragma once

#include <string>

#include "absl/status/status.h"

namespace penstock {

// What a status says, to be held against words.
inline std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

}  // namespace penstock
