// How long to wait before looking again at what rings nothing: 50 µs, doubling to 5 ms while
// nothing happens, and 50 µs again as soon as something does. One thread.
#pragma once

#include <algorithm>

#include "common/base/clock.h"

namespace penstock::feed {

class BackOff {
 public:
  static constexpr base::Duration kFirst = std::chrono::microseconds(50);
  static constexpr base::Duration kLongest = std::chrono::milliseconds(5);

  base::Duration Next() {
    const base::Duration wait = next_;
    next_ = std::min(2 * next_, kLongest);
    return wait;
  }
  void Reset() { next_ = kFirst; }

 private:
  base::Duration next_ = kFirst;
};

}  // namespace penstock::feed
