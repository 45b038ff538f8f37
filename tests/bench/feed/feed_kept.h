// The part of `feed` for validation: from the second epoch on, a daemon copies rows that it has
// kept, compared with a memcpy of as many rows by as many threads, in the same run.
#pragma once

#include "common/base/status.h"
#include "tests/bench/harness/arguments.h"
#include "tests/bench/harness/result.h"
#include "tests/bench/photographs.h"

namespace penstock::bench {

// Adds its comparison to `result`.
absl::Status FeedKept(const Photographs& photographs, Extent extent, Result& result);

}  // namespace penstock::bench
