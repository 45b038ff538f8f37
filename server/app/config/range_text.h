// Parses a range of a dataset: "0..50000" is samples 0 to 49,999, "90%..100%" the last tenth. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/plan/plan.h"

namespace penstock::app {

struct RangeText {
  // Sample numbers or, if `in_percent`, millionths of a percent. `end` is exclusive.
  uint64_t begin = 0, end = 0;
  bool in_percent = false;
  bool operator==(const RangeText&) const = default;
};

// **Errors**: InvalidArgument names what was wanted and what was got.
absl::StatusOr<RangeText> ParseRange(absl::string_view text);

// Applies the range to a dataset with that many samples. **Errors**: InvalidArgument if the range
// exceeds the dataset or is empty.
absl::StatusOr<plan::Range> Resolve(const RangeText& range, uint64_t samples);

}  // namespace penstock::app
