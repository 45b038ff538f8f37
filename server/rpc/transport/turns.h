// Evens out what may happen so many times a second: after a pause a whole burst goes at once, who
// comes too early waits for its turn. Pure; not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/clock.h"

namespace penstock::rpc {

class Turns {
 public:
  Turns(uint32_t per_second, uint32_t burst)
      : each_(std::chrono::nanoseconds(std::chrono::seconds(1)) / per_second),
        burst_(each_ * burst) {}

  // Takes the next turn; how long it is until then. `now` never goes back.
  base::Duration Take(base::TimePoint now) {
    next_ = std::max(next_ + each_, now - burst_ + each_);
    return std::max(next_ - now, base::Duration::zero());
  }
  // One that was taken and is not needed: those who come later wait the less.
  void GiveBack() { next_ -= each_; }

 private:
  const base::Duration each_, burst_;
  base::TimePoint next_{};
};

}  // namespace penstock::rpc
