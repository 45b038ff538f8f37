#include "server/app/service/reply_executor.h"

#include <pthread.h>

#include <utility>

#include "common/posix/limits.h"

namespace penstock::app {

ReplyExecutor::ReplyExecutor() : thread_([this] { Run(); }) {}

ReplyExecutor::~ReplyExecutor() {
  {
    base::MutexLock lock(mutex_);
    ending_ = true;
  }
  given_.NotifyAll();
  thread_.join();
}

void ReplyExecutor::Do(Job job) {
  bool sleeps = false;
  {
    base::MutexLock lock(mutex_);
    sleeps = jobs_.empty();
    jobs_.push_back(std::move(job));
  }
  if (sleeps) given_.NotifyOne();
}

void ReplyExecutor::Run() {
  ::pthread_setname_np(::pthread_self(), "replies");
  posix::GiveWay(posix::Priority::kLow).IgnoreError();
  for (;;) {
    std::vector<Job> jobs;
    {
      base::MutexLock lock(mutex_);
      while (jobs_.empty() && !ending_) given_.Wait(mutex_);
      if (jobs_.empty()) return;
      jobs.swap(jobs_);
    }
    for (const Job& job : jobs) job();
  }
}

}  // namespace penstock::app
