// How often one place in the code may write: at most kLinesPerSecond lines in any one second.
// Pure: time comes in as an argument. Not safe for several threads at once; Place (log.h) locks.
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
    uint64_t suppressed = 0;  // with write: how many were left out since the last line written
  };

  // Asks for one line at `now`, which never runs backwards.
  Verdict Ask(base::TimePoint now);

 private:
  std::array<base::TimePoint, kLinesPerSecond> written_{};  // a ring; next_ is the oldest
  size_t next_ = 0;
  uint64_t lines_ = 0;
  uint64_t suppressed_ = 0;
};

}  // namespace penstock::telemetry
