// Lets other threads reach the runner's thread: a bounded queue of jobs, and an event that signals
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/posix/fd.h"

namespace penstock::feed {

class Mailbox {
 public:
  using Job = std::function<void()>;

  Mailbox(posix::Fd event, size_t capacity) : event_(std::move(event)), capacity_(capacity) {}

  // Any thread. False if the queue is full or closed: the job was not taken.
  bool Post(Job job) { return Put(std::move(job), capacity_); }

  // The same for jobs that must not be lost and are bounded by their source (a process left): never
  // full.
  bool Deliver(Job job) { return Put(std::move(job), SIZE_MAX); }

  // The runner's thread: takes all jobs.
  std::vector<Job> Take() {
    base::MutexLock lock(mutex_);
    return std::exchange(jobs_, {});
  }

  // Accepts no more jobs.
  void Close() {
    base::MutexLock lock(mutex_);
    closed_ = true;
  }

  const posix::Fd& event() const { return event_; }

 private:
  bool Put(Job job, size_t capacity) {
    {
      base::MutexLock lock(mutex_);
      if (closed_ || jobs_.size() >= capacity) return false;
      jobs_.push_back(std::move(job));
    }
    posix::NotifyEvent(event_);
    return true;
  }

  posix::Fd event_;
  const size_t capacity_;
  base::Mutex mutex_;
  std::vector<Job> jobs_ PENSTOCK_GUARDED_BY(mutex_);
  bool closed_ PENSTOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock::feed
