// Deadlines of the times that callers give.
// **Thread safety**: any thread.
#pragma once

#include <algorithm>
#include <chrono>

#include "common/base/clock.h"

namespace penstock::client {

// `now + timeout`, limited to a year so that the clock cannot overflow.
inline base::TimePoint DeadlineAfter(std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  return base::Now() + std::clamp(timeout, std::chrono::milliseconds(0), kLongest);
}

}  // namespace penstock::client
