#include "server/plan/plan.h"

namespace penstock::plan {

absl::Status Validate(const Range& range, const Range& whole) {
  if (range.count == 0)
    return absl::InvalidArgumentError(absl::StrCat("the range from sample ", range.first,
                                                   " is empty; it must have at least one sample"));
  const bool begins = range.first >= whole.first && range.first - whole.first < whole.count;
  if (begins && range.count <= whole.count - (range.first - whole.first)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the range has ", range.count, " samples from number ", range.first,
                   ", but the dataset has ", whole.count, " (", whole.first, " to ",
                   whole.first + (whole.count - 1), "); ask for a range within it"));
}

absl::Status Validate(const GivenBy& by) {
  if (by.rank < by.ranks) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the order was given by rank ", by.rank, " of ",
                                                 by.ranks, "; the rank must be less than the ",
                                                 "number of ranks"));
}

}  // namespace penstock::plan
