// Lists of files in a few characters, as shells and WebDataset write them: "train-{000..146}.tar",
// "{a,b}.tar". Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

inline constexpr size_t kMostExpanded = 1'000'000;

// Whether there is anything to expand.
bool HasBraces(absl::string_view pattern);

// All that a pattern means, the last braces changing fastest; a text without braces is itself.
// {a..b} counts by one, up or down, and has leading zeros where a or b has; {a..b..s} counts by s.
// InvalidArgument: braces within braces, without their other half, or with neither a comma nor two
// numbers in them; more than kMostExpanded results.
absl::StatusOr<std::vector<std::string>> ExpandBraces(absl::string_view pattern);

}  // namespace penstock::source
