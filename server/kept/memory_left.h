// Whether the machine has memory for more rows, so that a limit that is larger than the machine, or
// than its container, is no reason for the kernel to end the daemon.
// **Thread safety**: any thread. Asking reads /proc, once for every kStep bytes of growth.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/units.h"

namespace penstock::kept {

class MemoryLeft {
 public:
  static constexpr uint64_t kStep = 32 * base::kMiB;
  // Rows leave this much to everybody else.
  static constexpr uint64_t kReserve = 256 * base::kMiB;

  // Returns the bytes that the machine or the container still has. Not set: enough.
  using Ask = std::function<uint64_t()>;
  explicit MemoryLeft(Ask ask) : ask_(std::move(ask)) {}

  // Whether all rows together may use this many bytes.
  bool IsEnoughFor(uint64_t bytes);

 private:
  const Ask ask_;
  std::atomic<uint64_t> granted_{0};
  base::Mutex mutex_;
  base::TimePoint again_ PENSTOCK_GUARDED_BY(mutex_){};  // after a refusal
  bool was_enough_ PENSTOCK_GUARDED_BY(mutex_) = true;
};

}  // namespace penstock::kept
