#include "server/workers/restart.h"

namespace penstock::workers {

bool RestartBudget::Take(base::TimePoint now) {
  while (!taken_.empty() && now - taken_.front() >= options_.window) taken_.pop_front();
  if (taken_.size() >= options_.restarts) return false;
  taken_.push_back(now);
  return true;
}

}  // namespace penstock::workers
