// Limits one call site to kLinesPerSecond log lines in any one second. Pure: time is an argument.
//
// **Thread safety**: not thread-safe; Place (log.h) locks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/base/clock.h"

namespace penstock::telemetry {

inline constexpr size_t kLinesPerSecond = 10;

class Limiter {
 public:
  struct Verdict {
    bool write = false;
    uint64_t suppressed = 0;  // if `write`: lines suppressed since the last one written
  };

  // Asks to write one line at `now`, which must not go backwards.
  Verdict Ask(base::TimePoint now);

 private:
  std::array<base::TimePoint, kLinesPerSecond> written_{};  // a ring; next_ is the oldest
  size_t next_ = 0;
  uint64_t lines_ = 0;
  uint64_t suppressed_ = 0;
};

}  // namespace penstock::telemetry
