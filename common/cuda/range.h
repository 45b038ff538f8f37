// A named NVTX range on a thread's timeline, for profilers, with a batch's position. Costs a few
// nanoseconds without a profiler, and nothing in a build without a toolkit.
#pragma once

#include <cstdint>

namespace penstock::cuda {

class TraceRange {
 public:
  // Shown as "penstock copy 3:4096": the operation, then the batch's epoch and first position.
  TraceRange(const char* what, uint64_t epoch, uint64_t first);
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;
};

}  // namespace penstock::cuda
