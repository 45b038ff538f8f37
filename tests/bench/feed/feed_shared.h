// Part of the suite `feed`: one feed for several trainers.
#pragma once

#include "tests/bench/photographs.h"
#include "tests/bench/suite.h"

namespace penstock::bench {

// Adds what eight trainers of one feed get together, compared with eight times what one gets.
absl::Status FeedShared(const Photographs& photographs, Extent extent, Result& result);

}  // namespace penstock::bench
