#include "server/app/catalog/waiting_callers.h"

#include <algorithm>
#include <utility>

namespace penstock::app {

WaitingCallers::WaitingCaller::WaitingCaller(WaitingCallers& callers, const std::string& desk,
                                             Cancelled cancelled)
    : callers_(callers), desk_(desk) {
  const base::MutexLock lock(callers_.mutex_);
  std::list<Cancelled>& all = callers_.by_desk_[desk_];
  place_ = all.insert(all.end(), std::move(cancelled));
}

WaitingCallers::WaitingCaller::~WaitingCaller() {
  std::list<Cancelled> gone;  // destroyed without the lock, because it may hold the caller's call
  const base::MutexLock lock(callers_.mutex_);
  std::list<Cancelled>& all = callers_.by_desk_[desk_];
  gone.splice(gone.end(), all, place_);
  if (all.empty()) callers_.by_desk_.erase(desk_);
}

bool WaitingCallers::AnyAt(const std::string& desk) const {
  const base::MutexLock lock(mutex_);
  const auto found = by_desk_.find(desk);
  return found != by_desk_.end() && std::any_of(found->second.begin(), found->second.end(),
                                                [](const Cancelled& gone) { return !gone(); });
}

}  // namespace penstock::app
