#include "server/workers/restart.h"

#include <algorithm>

namespace penstock::workers {

base::Duration BackOff::Next() {
  const base::Duration pause = next_;
  next_ = std::min(options_.longest, 2 * next_);
  return pause;
}

bool RestartBudget::Take(base::TimePoint now) {
  while (!taken_.empty() && now - taken_.front() >= options_.window) taken_.pop_front();
  if (taken_.size() >= options_.restarts) return false;
  taken_.push_back(now);
  return true;
}

}  // namespace penstock::workers
