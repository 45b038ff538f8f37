// Who waits for the openings of each desk. Callers who ask for the same dataset wait at the same
// desk for one opening after another, and what the first one finds serves the others too. So an
// opening is wanted as long as anyone waits at its desk, whoever began it, and for some seconds
// longer: a trainer whose daemon is new asks again and again, each time for less than a second.
//
// **Thread safety**: any thread.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <string>

#include "common/base/clock.h"
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

  // `asked_again_within`: how much longer an opening is wanted.
  explicit WaitingCallers(base::Duration asked_again_within)
      : asked_again_within_(asked_again_within) {}

  bool AnyAt(const std::string& desk) const;

 private:
  struct Desk {
    std::list<Cancelled> callers = {};
    base::TimePoint wanted = {};  // when somebody was last found to wait
  };

  const base::Duration asked_again_within_;
  mutable base::Mutex mutex_;
  mutable std::map<std::string, Desk> by_name_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::app
