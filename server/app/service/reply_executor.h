// A low-priority executor ("replies") for the runner's answers to calls: writing an answer to a
// socket takes longer than making it, and the runner must serve all feeds. The number of waiting
// answers is limited by the server's limit on calls.
// **Thread safety**: any thread.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "common/base/mutex.h"

namespace penstock::app {

class ReplyExecutor {
 public:
  using Job = std::function<void()>;

  ReplyExecutor();
  ~ReplyExecutor();  // runs the remaining jobs; no job may be added any more

  // Runs jobs one after another, in order.
  void Do(Job job);

 private:
  void Run();

  base::Mutex mutex_;
  base::CondVar given_;
  std::vector<Job> jobs_ PENSTOCK_GUARDED_BY(mutex_);
  bool ending_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace penstock::app
