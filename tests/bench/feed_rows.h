// The part of `feed` about rows that need no decoding: a daemon that copies images, arrays and
// tokens, against memcpy of as many bytes, and of the same rows, in the same run.
#pragma once

#include "common/base/status.h"
#include "tests/bench/arguments.h"
#include "tests/bench/result.h"

namespace penstock::bench {

// Adds its comparisons.
absl::Status FeedRows(Extent extent, Result& result);

}  // namespace penstock::bench
