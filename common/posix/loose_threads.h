// Threads left behind in a system call that may never return: a read from an unreachable file
// server is stuck in the kernel and cannot be cancelled. Such a thread ends by itself once its call
// returns.
//
// **Thread safety**: used by one thread.
// **Ownership**: each thread owns everything it still touches. The destructor waits for all threads
// without a time limit; the daemon limits its own shutdown (server/app/end_limit.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <thread>

namespace penstock::posix {

class LooseThreads {
 public:
  explicit LooseThreads(size_t most) : most_(most) {}
  ~LooseThreads() { JoinAll(); }
  LooseThreads(const LooseThreads&) = delete;
  LooseThreads& operator=(const LooseThreads&) = delete;

  // A thread and a flag that says whether its function has returned, so that it can be joined
  // without waiting.
  struct Thread {
    std::thread thread;
    std::shared_ptr<const std::atomic<bool>> ended;  // shared with the thread
  };
  // nullopt if the system cannot create another thread.
  static std::optional<Thread> Start(std::function<void()> run);

  // Whether another thread may be left behind.
  bool CanStart() const { return threads_.size() < most_; }
  void Leave(Thread thread) { threads_.push_back(std::move(thread)); }
  // Joins the threads that have ended. Never waits.
  void Sweep();
  // Waits for all threads, however long that takes.
  void JoinAll();
  size_t count() const { return threads_.size(); }

 private:
  const size_t most_;
  std::list<Thread> threads_;
};

}  // namespace penstock::posix
