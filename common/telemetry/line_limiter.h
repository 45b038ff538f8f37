// Limits how many log lines one call site, or one user, may write: ten at once after a pause, then
// ten a second. Counts the lines that it suppresses.
//
// Pure: the caller passes the time. **Thread safety**: used by one thread; CallSite (log.h) locks.
#pragma once

#include <cstdint>
#include <utility>

#include "common/base/clock.h"
#include "common/base/token_bucket.h"

namespace penstock::telemetry {

inline constexpr uint32_t kLinesPerSecond = 10;

class LineLimiter {
 public:
  struct Decision {
    bool write = false;
    uint64_t suppressed = 0;  // if `write`: lines suppressed since the last one written
  };

  // Asks to write one line at `now`, which must not go backwards.
  Decision Ask(base::TimePoint now) {
    if (lines_.TryTake(now)) return {.write = true, .suppressed = std::exchange(suppressed_, 0)};
    ++suppressed_;
    return {};
  }

 private:
  base::TokenBucket lines_{{.per_second = kLinesPerSecond, .burst = kLinesPerSecond}};
  uint64_t suppressed_ = 0;
};

}  // namespace penstock::telemetry
