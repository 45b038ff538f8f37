#include "common/telemetry/limiter.h"

#include <chrono>
#include <utility>

namespace penstock::telemetry {

Limiter::Verdict Limiter::Ask(base::TimePoint now) {
  const bool full = lines_ >= kLinesPerSecond && now - written_[next_] < std::chrono::seconds(1);
  if (full) {
    ++suppressed_;
    return {};
  }
  written_[next_] = now;
  next_ = (next_ + 1) % kLinesPerSecond;
  ++lines_;
  return {.write = true, .suppressed = std::exchange(suppressed_, 0)};
}

}  // namespace penstock::telemetry
