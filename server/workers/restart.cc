#include "server/workers/restart.h"

#include <chrono>

#include "absl/strings/str_cat.h"

namespace penstock::workers {

bool RestartBudget::Take(base::TimePoint now) {
  while (!taken_.empty() && now - taken_.front() >= options_.window) taken_.pop_front();
  if (taken_.size() >= options_.restarts) return false;
  taken_.push_back(now);
  return true;
}

void Restarts::GiveUp(const std::string& reason) {
  status_ = absl::UnavailableError(
      absl::StrCat("workers died too often (", options_.restarts, " restarts in ",
                   std::chrono::duration_cast<std::chrono::seconds>(options_.window).count(),
                   " s, or as many in a row that never became ready); the last one was ", reason,
                   "; check the daemon's log (worker_last_words), then open again"));
}

}  // namespace penstock::workers
