// The part of `feed` for tar shards: a daemon that feeds photographs from shards, compared with one
// that feeds the same photographs from their folder, in the same run.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "tests/bench/harness/result.h"
#include "tests/bench/photographs.h"

namespace penstock::bench {

struct ShardRuns {
  uint32_t workers = 1;
  uint64_t samples = 0;  // in one run
  int rounds = 0;
};

// Adds its comparison to `result`.
absl::Status FeedShards(const Photographs& photographs, const ShardRuns& runs, Result& result);

}  // namespace penstock::bench
