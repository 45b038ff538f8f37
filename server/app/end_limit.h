// The most that the daemon's end may take. Every thread has an owner that joins it, but one that
// reads from a file server that is away is in the kernel's hands for as long as that lasts, and so
// would be whoever joins it. Threads could be left behind instead, but then all that they may still
// touch would have to outlive its owner. The process itself is the owner of last resort: when its
// orderly end takes too long, it ends without it.
//
// That leaves nothing behind: the kernel ends the threads, the workers die with their parent, and
// the daemon makes what others see (sockets, sessions) end before it waits for readers.
#pragma once

#include <thread>

#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace penstock::app {

class EndLimit {
 public:
  // From now on the process has so long before it ends with this exit code.
  EndLimit(base::Duration limit, int exit_code);
  ~EndLimit();  // it ended in time
  EndLimit(const EndLimit&) = delete;
  EndLimit& operator=(const EndLimit&) = delete;

 private:
  void Run(base::TimePoint deadline, int exit_code);

  base::Mutex mutex_;
  base::CondVar changed_;
  bool ended_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace penstock::app
