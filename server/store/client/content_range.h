// Whether an answer is of the range that was asked for. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace penstock::store {

// What "bytes FIRST-LAST/TOTAL" says. TOTAL may be "*", for which `total` is 0.
struct ContentRange {
  uint64_t first = 0, last = 0, total = 0;
};
std::optional<ContentRange> ParseContentRange(absl::string_view text);

}  // namespace penstock::store
