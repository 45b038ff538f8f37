// Runs a loop on several threads for the duration of one call. Indexing uses it to use more than
// one core, and to have several requests to a slow file system in flight.
#pragma once

#include <cstddef>
#include <functional>

#include "common/base/status.h"

namespace penstock::source {

struct ParallelFor {
  size_t threads = 1;  // at least 1
  // Called by the caller's thread every 100 ms; false cancels; may be empty.
  std::function<bool()> watch = {};

  // Calls work(i) for each i in [0, count), in any order, on at most `threads` threads, and joins
  // all of them before it returns.
  // **Errors**: the first error of `work` ends the loop; Cancelled if `watch` returned false.
  absl::Status ForEach(size_t count, const std::function<absl::Status(size_t)>& work) const;
};

}  // namespace penstock::source
