// The runner: the one thread ("runner") that owns the engine. It sleeps until a worker, a consumer
// or another thread has something for it, and ticks ten times a second.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/feed/engine.h"
#include "server/feed/mailbox.h"

namespace penstock::feed {

class Runner {
 public:
  // Starts the workers and the thread. The engine is made and destroyed on that thread's behalf by
  // whoever owns the runner.
  static absl::StatusOr<std::unique_ptr<Runner>> Start(Engine::Options options, SendToPeer send);
  // Takes no more jobs, tells every session that the daemon ends, and ends the thread, with which
  // the workers die.
  void Close();
  // Besides waits for the reads in progress, however long they take.
  ~Runner();

  // Any thread: runs `job` on the runner's thread. False when it is stopping or too much is queued:
  // the job will not run.
  bool Post(std::function<void(Engine&, base::TimePoint)> job);
  // The same for what must not be lost, however much is queued: that a process left.
  void Deliver(std::function<void(Engine&, base::TimePoint)> job);

  // Open sessions, as of a moment ago.
  size_t sessions() const { return sessions_.load(std::memory_order_relaxed); }

  // Whether rows are decoded; once false, for good.
  bool healthy() const { return healthy_.load(std::memory_order_relaxed); }

 private:
  Runner(Engine::Options options, SendToPeer send, posix::Fd poll, posix::Fd event);
  void Run();
  void Sleep();
  void Watch(int fd, bool watch);

  base::SteadyClock clock_;
  posix::Fd poll_;  // epoll
  Mailbox mailbox_;
  Engine engine_;
  std::atomic<bool> stopping_ = false;
  std::atomic<size_t> sessions_ = 0;
  std::atomic<bool> healthy_ = true;
  std::thread thread_;
};

}  // namespace penstock::feed
