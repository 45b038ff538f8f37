// Hands answers over to those who asked, in a thread of its own ("replies") that gives way to
// others: to write an answer to a socket takes longer than to make it, and who makes it, the
// runner, serves all feeds. Any thread. As many answers wait as there are calls, which the server
// limits.
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
  ~ReplyExecutor();  // does what is left; nothing is given to it any more

  // One after the other, in this order.
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
