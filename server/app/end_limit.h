// Limits the daemon's shutdown time. Every thread is joined by its owner, but a thread that reads
// from an unresponsive file server stays in the kernel, and joining it would block too. If threads
// were abandoned instead, everything that they may touch would have to outlive their owner. So if
// the orderly shutdown takes too long, the process exits without finishing it.
//
// This leaves nothing behind: the kernel ends the threads, workers die with their parent, and the
// daemon closes everything that others see (sockets, sessions) before it waits for readers.
#pragma once

#include <thread>

#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace penstock::app {

class EndLimit {
 public:
  // The process exits with this code if it is still running after the limit.
  EndLimit(base::Duration limit, int exit_code);
  ~EndLimit();  // cancels the limit
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
