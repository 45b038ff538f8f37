// The part of `feed` for rows that need no decoding: a daemon that copies images, arrays and
// tokens, compared with a memcpy of as many bytes and of the same rows, in the same run.
#pragma once

#include "common/base/status.h"
#include "tests/bench/harness/arguments.h"
#include "tests/bench/harness/result.h"

namespace penstock::bench {

// Adds its comparisons to `result`.
absl::Status FeedRows(Extent extent, Result& result);

}  // namespace penstock::bench
