// Jobs that may wait for a file server, one at a time at each desk, and desks beside each other: a
// job that does not come back holds up those at its own desk alone. Threads are bounded
// in all and for each user, so that a user whose jobs hang leaves places for others.
//
// Any thread may call.
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
#include "common/posix/loose_threads.h"

namespace penstock::app {

class Desks {
 public:
  struct Options {
    size_t most_threads = 64;
    size_t most_of_a_user = 8;   // of the threads
    size_t most_waiting = 1024;  // jobs, in all
    size_t most_waiting_of_a_user = 256;
    const char* thread_name = "catalog";
  };
  using Job = std::function<void()>;

  explicit Desks(const Options& options) : options_(options), threads_(SIZE_MAX) {}
  ~Desks() { Stop(); }

  // Does the job behind those that were brought to this desk before. ResourceExhausted: too many
  // wait; Unavailable: it is the end. Then the job is not done.
  absl::Status Do(const std::string& desk, uint64_t user, Job job);

  // No job is taken from now on.
  void Close();
  // Besides does what waits, here and now, and waits for what is being done.
  void Stop();

  // Whether something is being done, or waits for that.
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
  std::list<Waiting> waiting_ PENSTOCK_GUARDED_BY(mutex_);  // in the order in which they came
  std::map<std::string, uint64_t> busy_desks_ PENSTOCK_GUARDED_BY(mutex_);  // with whose job
  // Started and left under the mutex; joined without it, once nothing waits for a thread.
  posix::LooseThreads threads_;
};

}  // namespace penstock::app
