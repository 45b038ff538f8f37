// When to try again: pauses that double, and a budget of attempts in a sliding window. Pure.
#pragma once

#include <cstdint>
#include <deque>

#include "common/base/clock.h"

namespace penstock::workers {

class BackOff {
 public:
  struct Options {
    base::Duration first, longest;
  };
  explicit BackOff(Options options) : options_(options), next_(options.first) {}

  // How long to pause before this attempt; the next pause is twice as long.
  base::Duration Next();
  // The last attempt went well.
  void Reset() { next_ = options_.first; }

 private:
  Options options_;
  base::Duration next_;
};

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
