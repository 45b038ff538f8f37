// When a worker that died may be replaced, and when to give up: after too many restarts in a
// sliding window, or too many consecutive workers that never became ready. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"

namespace penstock::workers {

// Allows this many restarts in a sliding window. Not a base::TokenBucket, because the configuration
// promises a number for any window, and a bucket would allow up to twice as many.
class RestartBudget {
 public:
  struct Options {
    uint32_t restarts;
    base::Duration window;
  };
  explicit RestartBudget(Options options) : options_(options) {}

  // Takes one restart from the budget. False if the window has used it up.
  bool Take(base::TimePoint now);

 private:
  Options options_;
  std::deque<base::TimePoint> taken_;
};

// Shared by all worker slots: the budget for restarts that are nobody's fault.
class Restarts {
 public:
  explicit Restarts(RestartBudget::Options options) : options_(options), budget_(options) {}

  // Whether a worker slot may start another worker after this many consecutive failed starts. Takes
  // a restart from the budget.
  bool MayStart(uint32_t failed_starts, base::TimePoint now) {
    return failed_starts <= options_.restarts && budget_.Take(now);
  }
  // A worker slot stays down permanently. All users see `reason`, so it must not name a sample.
  void GiveUp(const std::string& reason);
  // Unavailable, with the last reason, once a worker slot stays down.
  const absl::Status& status() const { return status_; }

 private:
  const RestartBudget::Options options_;
  RestartBudget budget_;
  absl::Status status_;
};

}  // namespace penstock::workers
