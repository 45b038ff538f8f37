#include "server/app/clerk.h"

#include <pthread.h>

#include <utility>

#include "common/posix/limits.h"

namespace penstock::app {

Clerk::Clerk() : thread_([this] { Run(); }) {}

Clerk::~Clerk() {
  {
    base::MutexLock lock(mutex_);
    ending_ = true;
  }
  given_.NotifyAll();
  thread_.join();
}

void Clerk::Do(Job job) {
  bool sleeps = false;
  {
    base::MutexLock lock(mutex_);
    sleeps = jobs_.empty();
    jobs_.push_back(std::move(job));
  }
  if (sleeps) given_.NotifyOne();
}

void Clerk::Run() {
  ::pthread_setname_np(::pthread_self(), "clerk");
  posix::GiveWay().IgnoreError();
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
