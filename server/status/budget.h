// Token bucket: at most `per_second` events per second, with bursts of up to the same number. Pure;
// used by one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "common/base/clock.h"

namespace penstock::status {

class Budget {
 public:
  explicit Budget(uint32_t per_second) : per_second_(per_second), left_(per_second) {}

  // Takes a token if there is one.
  bool Take(base::TimePoint now) {
    Refill(now);
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

  // The time until a token is available; 0: now.
  base::Duration Wait(base::TimePoint now) {
    Refill(now);
    if (left_ >= 1) return base::Duration(0);
    const std::chrono::duration<double> wait((1 - left_) / per_second_);
    return std::chrono::duration_cast<base::Duration>(wait) + std::chrono::microseconds(1);
  }

 private:
  void Refill(base::TimePoint now) {
    const double seconds = std::chrono::duration<double>(now - refilled_).count();
    left_ = std::min<double>(per_second_, left_ + seconds * per_second_);
    refilled_ = now;
  }

  const double per_second_;
  double left_;
  base::TimePoint refilled_{};
};

}  // namespace penstock::status
