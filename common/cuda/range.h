// A named range of a thread's time for profilers (NVTX), with a batch's position. Costs some
// nanoseconds while no profiler is there, and nothing in a build without a toolkit.
#pragma once

#include <cstdint>

namespace penstock::cuda {

class Range {
 public:
  // "copy 3:4096": what happens, to which batch.
  Range(const char* what, uint64_t epoch, uint64_t first);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}  // namespace penstock::cuda
