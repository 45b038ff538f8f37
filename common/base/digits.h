#pragma once

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace penstock::base {

// True for one or more decimal digits and nothing else.
inline bool IsDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

}  // namespace penstock::base
