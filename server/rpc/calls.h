// How many calls are in progress: at its end the server waits for their answers, and not for
// clients that have none and keep their connection. Owned by the server; any thread.
#pragma once

#include <cstdint>

#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace penstock::rpc {

class Calls {
 public:
  void Begin() {
    base::MutexLock lock(mutex_);
    ++under_way_;
  }
  void End() {
    base::MutexLock lock(mutex_);
    if (--under_way_ == 0) changed_.NotifyAll();
  }

  // Waits until none is in progress, so long at most.
  void AwaitNone(base::Duration timeout) {
    const base::SteadyClock clock;
    const base::TimePoint deadline = clock.Now() + timeout;
    base::MutexLock lock(mutex_);
    for (auto now = clock.Now(); under_way_ > 0 && now < deadline; now = clock.Now())
      changed_.WaitFor(mutex_, deadline - now);
  }

 private:
  base::Mutex mutex_;
  base::CondVar changed_;
  uint64_t under_way_ PENSTOCK_GUARDED_BY(mutex_) = 0;
};

// One call, from when it is made until gRPC is done with it.
class CallUnderWay {
 public:
  explicit CallUnderWay(Calls& calls) : calls_(&calls) { calls.Begin(); }
  CallUnderWay(const CallUnderWay&) = delete;
  CallUnderWay& operator=(const CallUnderWay&) = delete;
  ~CallUnderWay() { Done(); }

  // Once gRPC is done, however long the object lives on.
  void Done() {
    if (calls_ != nullptr) calls_->End();
    calls_ = nullptr;
  }

 private:
  Calls* calls_;
};

}  // namespace penstock::rpc
