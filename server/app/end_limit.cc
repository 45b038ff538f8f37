#include "server/app/end_limit.h"

#include <pthread.h>
#include <unistd.h>

#include "common/telemetry/log.h"

namespace penstock::app {

EndLimit::EndLimit(base::Duration limit, int exit_code)
    : thread_([this, deadline = base::Now() + limit, exit_code] { Run(deadline, exit_code); }) {}

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
    for (auto now = base::Now(); now < deadline && !ended_; now = base::Now()) {
      changed_.WaitFor(mutex_, deadline - now);
    }
    if (ended_) return;
  }
  PENSTOCK_LOG(kWarning, "ended_without_waiting",
               {"reason", "a disk, a file server or a GPU does not respond; look at the storage"});
  ::_exit(exit_code);
}

}  // namespace penstock::app
