// How often a worker may be restarted. Pure.
#pragma once

#include <cstdint>
#include <deque>

#include "common/base/clock.h"

namespace penstock::workers {

// So many restarts in a sliding window, and no more. Not a base::TokenBucket: the configuration
// promises a number for any window, and a bucket would allow up to twice as many.
class RestartBudget {
 public:
  struct Options {
    uint32_t restarts;
    base::Duration window;
  };
  explicit RestartBudget(Options options) : options_(options) {}

  // Takes one restart; false, taking none, when the window has had all of its restarts.
  bool Take(base::TimePoint now);

 private:
  Options options_;
  std::deque<base::TimePoint> taken_;
};

}  // namespace penstock::workers
