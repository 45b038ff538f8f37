// A thread that makes batches one after the other, in their order, and remembers how each ended.
//
// **Thread safety**: any thread. The destructor waits for what was begun; no job is left out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"

namespace penstock::client {

class StageThread {
 public:
  using Job = std::function<absl::Status()>;

  // ResourceExhausted if the system allows no more threads.
  absl::Status Start();
  StageThread() = default;
  ~StageThread();

  // `number`: of the batch; not in use by another that was not awaited. `after` runs behind the
  // job, and Await does not wait for it.
  void Add(uint64_t number, Job job, std::function<void()> after = {});
  // Waits for the job, and returns how it ended. Later calls for the same number return at once.
  absl::Status Await(uint64_t number);
  // Whether it ended before `deadline`.
  bool AwaitUntil(uint64_t number, base::TimePoint deadline);
  // Forgets how the job ended.
  void Forget(uint64_t number);

 private:
  struct Waiting {
    uint64_t number = 0;
    Job job = {};
    std::function<void()> after = {};
  };
  void Work();

  base::Mutex mutex_;
  base::CondVar changed_;
  bool ending_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::deque<Waiting> waiting_ PENSTOCK_GUARDED_BY(mutex_);
  std::map<uint64_t, absl::Status> ended_ PENSTOCK_GUARDED_BY(mutex_);
  std::thread thread_;  // declared last, because it uses all members above
};

}  // namespace penstock::client
