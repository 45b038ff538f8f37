// Runs jobs that may block on a file server: one at a time per queue ("desk"), with all queues in
// parallel, so that a blocked job delays only its own queue. Threads are limited in total and per
// user, so that a user whose jobs block leaves threads for others. A job that waits because its
// user has no more threads delays no other user's jobs in its queue.
//
// **Thread safety**: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <string>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/limits.h"
#include "common/posix/loose_threads.h"

namespace penstock::app {

class Desks {
 public:
  struct Options {
    size_t most_threads = 64;
    size_t most_of_a_user = 8;   // threads
    size_t most_waiting = 1024;  // jobs in total
    size_t most_waiting_of_a_user = 256;
    const char* thread_name = "catalog";
    posix::Priority priority = posix::Priority::kLow;
  };
  using Job = std::function<void()>;

  explicit Desks(const Options& options) : options_(options), threads_(SIZE_MAX) {}
  ~Desks() { Stop(); }

  // Queues the job. **Errors**: ResourceExhausted if too many are waiting; Unavailable during
  // shutdown. The job is then not run.
  absl::Status Do(const std::string& desk, uint64_t user, Job job);

  // Accepts no more jobs.
  void Close();
  // As Close; also runs the waiting jobs on the caller's thread, and waits for those in progress.
  void Stop();

  // Whether a job is running or waiting.
  bool busy() const;

 private:
  struct Waiting {
    std::string desk;
    uint64_t user = 0;
    Job job;
  };
  absl::Status MayWait(uint64_t user) const PENSTOCK_REQUIRES(mutex_);
  void StartWhatMayBe() PENSTOCK_REQUIRES(mutex_);
  bool MayStart(const Waiting& waiting) const PENSTOCK_REQUIRES(mutex_);
  bool Start(const Waiting& waiting) PENSTOCK_REQUIRES(mutex_);
  void Ended(const Waiting& done);

  const Options options_;
  mutable base::Mutex mutex_;
  bool closed_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::list<Waiting> waiting_ PENSTOCK_GUARDED_BY(mutex_);  // in order of arrival
  // With the user of the running job.
  std::map<std::string, uint64_t> busy_desks_ PENSTOCK_GUARDED_BY(mutex_);
  // Started and detached with the mutex held; joined without it, when nothing waits for a thread
  // any more.
  posix::LooseThreads threads_;
};

}  // namespace penstock::app
