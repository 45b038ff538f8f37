// A token bucket: limits how often something may happen. After a pause a whole burst may happen at
// once, then `per_second` events a second.
//
// Pure: the caller passes the time, which must not go backwards. **Thread safety**: used by one
// thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/clock.h"

namespace penstock::base {

class TokenBucket {
 public:
  struct Options {
    uint32_t per_second = 1;
    uint32_t burst = 1;
  };

  // The bucket begins full. **Requires**: options.per_second > 0.
  explicit TokenBucket(const Options& options)
      : interval_(Duration(std::chrono::seconds(1)) / options.per_second),
        burst_(interval_ * options.burst) {}

  // The time until a token is available; zero: there is one now.
  Duration Wait(TimePoint now) const { return std::max(NextAt(now) - now, Duration::zero()); }

  // Takes a token if there is one, and says whether there was.
  bool TryTake(TimePoint now) {
    if (Wait(now) > Duration::zero()) return false;
    taken_until_ = NextAt(now);
    return true;
  }

  // Takes the next token even if it isn't there yet, and returns how long the caller must wait for
  // it. Those who take further tokens wait longer.
  Duration Take(TimePoint now) {
    const Duration wait = Wait(now);
    taken_until_ = NextAt(now);
    return wait;
  }

  // Returns a token that was taken and isn't needed. **Requires**: a Take without a GiveBack.
  void GiveBack() { taken_until_ -= interval_; }

 private:
  // When the next token is available to a caller at `now`.
  TimePoint NextAt(TimePoint now) const { return std::max(taken_until_, now - burst_) + interval_; }

  Duration interval_, burst_;
  TimePoint taken_until_ = TimePoint::min();  // the bucket's tokens are used up to this time
};

}  // namespace penstock::base
