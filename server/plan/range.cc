#include "server/plan/plan.h"

namespace penstock::plan {

absl::Status Validate(const Range& range, const Range& whole) {
  if (range.count == 0)
    return absl::InvalidArgumentError(absl::StrCat(
        "the range from sample ", range.first, " on is empty; it must have at least one sample"));
  const bool begins = range.first >= whole.first && range.first - whole.first < whole.count;
  if (begins && range.count <= whole.count - (range.first - whole.first)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the range has ", range.count, " samples from ", range.first,
                   " on, but the dataset has ", whole.count, ", ", whole.first, " to ",
                   whole.first + (whole.count - 1), "; ask for a range within them"));
}

absl::Status Validate(const GivenBy& by) {
  if (by.rank < by.ranks) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("an order given by rank ", by.rank, " of ",
                                                 by.ranks, "; ranks are 0 to ", by.ranks,
                                                 " - 1, and there is at least one"));
}

}  // namespace penstock::plan
