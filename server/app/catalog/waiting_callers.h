// Who waits for the openings of each desk. Callers who ask for the same dataset wait at the same
// desk for one opening after another, and what the first one finds serves the others too. So an
// opening is wanted as long as anyone waits at its desk, whoever began it.
//
// **Thread safety**: any thread.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <string>

#include "common/base/mutex.h"

namespace penstock::app {

class WaitingCallers {
 public:
  // True once the caller does not wait any more. Any thread; never blocks.
  using Cancelled = std::function<bool()>;

  // One caller at a desk, from its request until its answer. **Requires**: the callers outlive it.
  class WaitingCaller {
   public:
    WaitingCaller(WaitingCallers& callers, const std::string& desk, Cancelled cancelled);
    ~WaitingCaller();
    WaitingCaller(const WaitingCaller&) = delete;
    WaitingCaller& operator=(const WaitingCaller&) = delete;
    // Whether anyone waits at the desk, this caller or another one.
    bool IsWanted() const { return callers_.AnyAt(desk_); }

   private:
    WaitingCallers& callers_;
    const std::string desk_;
    std::list<Cancelled>::iterator place_;
  };

  bool AnyAt(const std::string& desk) const;

 private:
  mutable base::Mutex mutex_;
  std::map<std::string, std::list<Cancelled>> by_desk_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::app
