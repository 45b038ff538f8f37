// The runner: the thread ("runner") that owns the engine. It sleeps until a worker, a consumer or
// another thread notifies it, and ticks ten times a second. GPU writes don't notify it, so while it
// expects such writes it polls with back-off.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "common/base/back_off.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/feed/engine/engine.h"
#include "server/feed/engine/mailbox.h"

namespace penstock::feed {

class Runner {
 public:
  // Starts the workers and the thread. The runner's owner creates and destroys the engine, on
  // behalf of that thread.
  static absl::StatusOr<std::unique_ptr<Runner>> Start(Engine::Options options, SendToPeer send);
  // Accepts no more jobs, tells every session that the daemon is ending, and ends the thread and
  // thereby the workers.
  void Close();
  // Also waits for reads in progress, however long they take.
  ~Runner();

  // Any thread: runs `job` on the runner's thread. False if it is stopping or too much is queued;
  // the job then does not run.
  bool Post(std::function<void(Engine&, base::TimePoint)> job);
  // The same for jobs that must not be lost, such as a process leaving; never refused.
  void Deliver(std::function<void(Engine&, base::TimePoint)> job);

  // Open sessions, as of a moment ago.
  size_t sessions() const { return sessions_.load(std::memory_order_relaxed); }

  // As of a moment ago. Never waits for the runner, which may be stuck.
  Vitals vitals() const;

  // Not OK if nothing is delivered any more. Permanent.
  absl::Status status() const {
    base::MutexLock lock(mutex_);
    return status_;
  }

 private:
  Runner(Engine::Options options, SendToPeer send, posix::Fd poll, posix::Fd event);
  void Run();
  void Tick(base::TimePoint now);
  void Sleep(base::Duration longest);
  void Watch(int fd, bool watch);

  base::SteadyClock clock_;
  posix::Fd poll_;  // epoll
  Mailbox mailbox_;
  Engine engine_;
  std::atomic<bool> stopping_ = false;
  std::atomic<size_t> sessions_ = 0;
  std::atomic<uint64_t> passes_ = 0;
  mutable base::Mutex mutex_;
  absl::Status status_ PENSTOCK_GUARDED_BY(mutex_);
  Vitals vitals_ PENSTOCK_GUARDED_BY(mutex_);
  // Pause before polling again.
  base::BackOff back_off_{
      {.first = std::chrono::microseconds(50), .longest = std::chrono::milliseconds(5)}};
  std::thread thread_;
};

}  // namespace penstock::feed
