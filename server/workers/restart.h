// When a worker that died may be replaced, and when to give up: after too many restarts in a
// sliding window, or too many starts in a row after which no worker was ready. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"

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

// What all worker slots share: the budget of restarts that are nobody's fault.
class Restarts {
 public:
  explicit Restarts(RestartBudget::Options options) : options_(options), budget_(options) {}

  // Whether a worker slot may start another worker after so many failed starts in a row. Takes a
  // restart from the budget.
  bool MayStart(uint32_t failed_starts, base::TimePoint now) {
    return failed_starts <= options_.restarts && budget_.Take(now);
  }
  // A worker slot stays down for good. Everybody is told, so that `reason` names no sample.
  void GiveUp(const std::string& reason);
  // Unavailable, with the last reason, once a worker slot stays down.
  const absl::Status& status() const { return status_; }

 private:
  const RestartBudget::Options options_;
  RestartBudget budget_;
  absl::Status status_;
};

}  // namespace penstock::workers
