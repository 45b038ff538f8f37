#include "server/app/end_limit.h"

#include <pthread.h>
#include <unistd.h>

#include "common/telemetry/log.h"

namespace penstock::app {
namespace {

base::TimePoint Now() { return base::SteadyClock().Now(); }

}  // namespace

EndLimit::EndLimit(base::Duration limit, int exit_code)
    : thread_([this, deadline = Now() + limit, exit_code] { Run(deadline, exit_code); }) {}

EndLimit::~EndLimit() {
  {
    const base::MutexLock lock(mutex_);
    ended_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void EndLimit::Run(base::TimePoint deadline, int exit_code) {
  ::pthread_setname_np(::pthread_self(), "end-limit");
  {
    const base::MutexLock lock(mutex_);
    for (auto now = Now(); now < deadline && !ended_; now = Now()) {
      changed_.WaitFor(mutex_, deadline - now);
    }
    if (ended_) return;
  }
  PENSTOCK_LOG(kWarning, "ended_without_waiting",
               {"reason", "a read or a GPU does not come back; see to the datasets' storage"});
  ::_exit(exit_code);
}

}  // namespace penstock::app
