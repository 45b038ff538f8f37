#include "server/app/catalog/waiting_callers.h"

#include <algorithm>
#include <utility>

namespace penstock::app {

WaitingCallers::WaitingCaller::WaitingCaller(WaitingCallers& callers, const std::string& desk,
                                             Cancelled cancelled)
    : callers_(callers), desk_(desk) {
  const base::MutexLock lock(callers_.mutex_);
  Desk& here = callers_.by_name_[desk_];
  place_ = here.callers.insert(here.callers.end(), std::move(cancelled));
  here.wanted = base::Now();
}

WaitingCallers::WaitingCaller::~WaitingCaller() {
  std::list<Cancelled> gone;  // destroyed without the lock, because it may hold the caller's call
  const base::MutexLock lock(callers_.mutex_);
  Desk& here = callers_.by_name_[desk_];
  gone.splice(gone.end(), here.callers, place_);
  if (here.callers.empty()) callers_.by_name_.erase(desk_);
}

bool WaitingCallers::AnyAt(const std::string& desk) const {
  const base::MutexLock lock(mutex_);
  const auto found = by_name_.find(desk);
  if (found == by_name_.end()) return false;
  Desk& here = found->second;
  const bool any = std::any_of(here.callers.begin(), here.callers.end(),
                               [](const Cancelled& gone) { return !gone(); });
  const base::TimePoint now = base::Now();
  if (any) here.wanted = now;
  return any || now - here.wanted < asked_again_within_;
}

}  // namespace penstock::app
