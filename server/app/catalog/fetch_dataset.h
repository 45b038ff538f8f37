// Fills the cache of object stores with a dataset before anybody trains on it.
// **Thread safety**: any thread. Waits for the network.
#pragma once

#include <cstdint>
#include <functional>

#include "common/base/status.h"
#include "server/plan/plan.h"
#include "server/source/core/dataset.h"

namespace penstock::app {

struct FetchedSoFar {
  uint64_t samples = 0;  // that are in the cache
  uint64_t bytes = 0;    // that were fetched for that
};

// Fetches the samples that are not in the cache, many at a time, so a fetch that was interrupted
// goes on where it ended. Calls `watch` several times a second; false cancels.
// **Errors**: FailedPrecondition: the dataset is in no store, or there is no cache;
// ResourceExhausted: the cache has no room for all of it, which says how much is there; Cancelled;
// those of Dataset::Fetch.
absl::StatusOr<FetchedSoFar> FetchDataset(const source::Dataset& dataset, const plan::Range& range,
                                          const std::function<bool(const FetchedSoFar&)>& watch);

}  // namespace penstock::app
