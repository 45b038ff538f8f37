// std::mutex with clang's thread-safety attributes. We don't use absl::Mutex because Debian's
// Abseil is not built for ThreadSanitizer, which then reports false races.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define PENSTOCK_ATTRIBUTE(x) __attribute__((x))
#else
#define PENSTOCK_ATTRIBUTE(x)
#endif
#define PENSTOCK_GUARDED_BY(x) PENSTOCK_ATTRIBUTE(guarded_by(x))
#define PENSTOCK_REQUIRES(...) PENSTOCK_ATTRIBUTE(requires_capability(__VA_ARGS__))

namespace penstock::base {

class PENSTOCK_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() PENSTOCK_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() PENSTOCK_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class PENSTOCK_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) PENSTOCK_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() PENSTOCK_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits release the mutex and reacquire it. Wake-ups may be spurious, so wait in a loop.
class CondVar {
 public:
  void Wait(Mutex& mutex) PENSTOCK_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  template <typename Duration>
  void WaitFor(Mutex& mutex, Duration timeout) PENSTOCK_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait_for(lock, timeout);
    lock.release();
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace penstock::base
