// Expands brace patterns for lists of files, as shells and WebDataset write them:
// "train-{000..146}.tar", "{a,b}.tar". Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

inline constexpr size_t kMostExpanded = 1'000'000;

// Whether the pattern contains anything to expand.
bool HasBraces(absl::string_view pattern);

// Returns all expansions; the last braces vary fastest. A text without braces expands to itself.
// {a..b} counts up or down by one, with leading zeros if a or b has them; {a..b..s} counts by s.
// **Errors**: InvalidArgument for nested or unbalanced braces, for braces with neither a comma nor
// two numbers, and for more than kMostExpanded results.
absl::StatusOr<std::vector<std::string>> ExpandBraces(absl::string_view pattern);

}  // namespace penstock::source
