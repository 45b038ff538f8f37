// How often something may happen: a burst at once after a pause, then so many a second. Pure; not
// thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/clock.h"

namespace penstock::rpc {

struct Pace {
  uint32_t per_second = 1, burst = 1;
};

class Budget {
 public:
  explicit Budget(const Pace& pace)
      : each_(std::chrono::nanoseconds(std::chrono::seconds(1)) / pace.per_second),
        burst_(each_ * pace.burst) {}

  // How long until it may happen once more; zero: now. `now` never goes back.
  base::Duration Wait(base::TimePoint now) const {
    return std::max(std::max(spent_until_, now - burst_) + each_ - now, base::Duration::zero());
  }
  // It happens, whether there was room or not.
  void Spend(base::TimePoint now) { spent_until_ = std::max(spent_until_, now - burst_) + each_; }

 private:
  base::Duration each_, burst_;
  base::TimePoint spent_until_{};
};

}  // namespace penstock::rpc
