// Threads that were left behind in a call which may not come back: a read of a file server that is
// away is in the kernel's hands, and nobody can call it back. They end by themselves, once it does.
//
// One thread owns it. What such a thread still touches is kept by the thread itself. The end of the
// object waits for all of them, however long that takes: the daemon's end has a limit
// (server/app/end_limit.h).
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

  // A thread, and whether what it runs has ended: then it can be joined without waiting.
  struct Thread {
    std::thread thread;
    std::shared_ptr<const std::atomic<bool>> ended;  // with the thread
  };
  // Nothing: the system gives no more threads.
  static std::optional<Thread> Start(std::function<void()> run);

  // Whether one more may be left behind.
  bool HasRoom() const { return threads_.size() < most_; }
  void Leave(Thread thread) { threads_.push_back(std::move(thread)); }
  // Joins those that ended. Never waits.
  void Sweep();
  // Waits for all, however long that takes.
  void JoinAll();
  size_t count() const { return threads_.size(); }

 private:
  const size_t most_;
  std::list<Thread> threads_;
};

}  // namespace penstock::posix
