// The growth rate of a counter, over steps of at least a second. Pure; one thread.
#pragma once

#include <chrono>
#include <cstdint>

#include "common/base/clock.h"

namespace penstock::feed {

class Rate {
 public:
  // The current count, which never decreases. Call it several times a second.
  void Update(base::TimePoint now, uint64_t count) {
    const base::Duration passed = now - since_;
    if (passed < std::chrono::seconds(1)) return;
    const double seconds = std::chrono::duration<double>(passed).count();
    per_second_ = static_cast<uint64_t>(static_cast<double>(count - count_) / seconds);
    since_ = now;
    count_ = count;
  }

  uint64_t per_second() const { return per_second_; }

 private:
  base::TimePoint since_{};
  uint64_t count_ = 0;
  uint64_t per_second_ = 0;
};

}  // namespace penstock::feed
