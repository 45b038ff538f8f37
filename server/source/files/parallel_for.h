// A few threads for the length of one call: how indexing uses more than one core, and waits for
// more than one answer of a slow file system.
#pragma once

#include <cstddef>
#include <functional>

#include "common/base/status.h"

namespace penstock::source {

struct ParallelFor {
  size_t threads = 1;           // at least 1
  std::function<bool()> watch;  // asked every 100 ms by the calling thread: go on? May be empty.

  // work(i) for each i in [0, count), in any order, on at most `threads` threads, all of which are
  // gone when it returns. The first error ends it; Cancelled when watch said false.
  absl::Status ForEach(size_t count, const std::function<absl::Status(size_t)>& work) const;
};

}  // namespace penstock::source
