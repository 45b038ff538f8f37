// Orders that a program draws for itself, to be given to a session (SessionOptions::given). Pure;
// any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "penstock/export.h"
#include "penstock/status.h"

namespace penstock {

// `count` samples drawn with replacement, sample i with probability weights[i] divided by their
// sum: the same for the same numbers everywhere, as server/plan/README.md specifies it. Takes time
// and memory in proportion to weights and draws. kInvalidArgument: no weights, no draws, a weight
// that is negative or no number, or none above 0.
PENSTOCK_EXPORT Result<std::vector<uint64_t>> DrawWeighted(std::span<const double> weights,
                                                           uint64_t count, uint64_t seed,
                                                           uint64_t epoch);

}  // namespace penstock
