// A part of a dataset as people write it: "0..50000", samples 0 to 49,999; or "90%..100%", the last
// tenth, whatever there is. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/plan/plan.h"

namespace penstock::app {

struct RangeText {
  // Samples; or millionths of a percent where `in_percent`. `end` is the first that is not meant.
  uint64_t begin = 0, end = 0;
  bool in_percent = false;
  bool operator==(const RangeText&) const = default;
};

// InvalidArgument says what was wanted and what was got.
absl::StatusOr<RangeText> ParseRange(absl::string_view text);

// Of a dataset of so many samples. InvalidArgument: it reaches out, or nothing is left of it.
absl::StatusOr<plan::Range> Resolve(const RangeText& range, uint64_t samples);

}  // namespace penstock::app
