#include "client/src/session/stage_thread.h"

#include <pthread.h>
#include <signal.h>

#include <system_error>

namespace penstock::client {

// Signals are the program's, and none of its handlers shall run here.
absl::Status StageThread::Start() {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  absl::Status started;
  try {
    thread_ = std::thread([this] { Work(); });
  } catch (const std::system_error& error) {
    started = absl::ResourceExhaustedError(
        absl::StrCat("starting the thread that decodes batches: ", error.what()));
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

StageThread::~StageThread() {
  {
    const base::MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void StageThread::Add(uint64_t number, Job job, std::function<void()> after) {
  {
    const base::MutexLock lock(mutex_);
    waiting_.push_back({number, std::move(job), std::move(after)});
  }
  changed_.NotifyAll();
}

absl::Status StageThread::Await(uint64_t number) {
  const base::MutexLock lock(mutex_);
  for (;;) {
    if (const auto found = ended_.find(number); found != ended_.end()) return found->second;
    changed_.Wait(mutex_);
  }
}

bool StageThread::AwaitUntil(uint64_t number, base::TimePoint deadline) {
  const base::MutexLock lock(mutex_);
  while (!ended_.contains(number)) {
    const base::Duration left = deadline - base::Now();
    if (left <= base::Duration::zero()) return false;
    changed_.WaitFor(mutex_, left);
  }
  return true;
}

void StageThread::Forget(uint64_t number) {
  const base::MutexLock lock(mutex_);
  ended_.erase(number);
}

void StageThread::Work() {
  ::pthread_setname_np(::pthread_self(), "penstock-rows");
  for (;;) {
    Waiting next;
    {
      const base::MutexLock lock(mutex_);
      while (waiting_.empty() && !ending_) changed_.Wait(mutex_);
      if (waiting_.empty()) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    const absl::Status status = next.job();
    {
      const base::MutexLock lock(mutex_);
      ended_.insert_or_assign(next.number, status);
    }
    changed_.NotifyAll();
    if (next.after) next.after();
  }
}

}  // namespace penstock::client
