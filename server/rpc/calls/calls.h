// The calls in progress. At shutdown the server waits for their responses, but not for idle
// connections. Above a limit, calls no longer reach the daemon. Responses are paced, so that calls
// use little CPU time.
// **Ownership**: owned by the server. **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/token_bucket.h"

namespace penstock::rpc {

class Calls {
 public:
  struct Limits {
    uint64_t at_once = 0;   // unary calls
    uint32_t watchers = 0;  // watching calls
    uint32_t answers_per_second = 1, answers_in_a_burst = 0;
  };
  explicit Calls(const Limits& limits)
      : limits_(limits),
        answers_({.per_second = limits.answers_per_second, .burst = limits.answers_in_a_burst}),
        refusals_(answers_) {}

  // Whether a new call may reach the daemon.
  absl::Status MayAsk() {
    base::MutexLock lock(mutex_);
    if (under_way_ <= limits_.at_once) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat(limits_.at_once, " calls are in progress, which is the limit; wait ",
                     "for responses before making more"));
  }

  // How long the response to a call must wait. Calls that were refused because of the limit wait
  // separately and delay no others.
  base::Duration TakeAnswer(bool is_refusal) {
    base::MutexLock lock(mutex_);
    return (is_refusal ? refusals_ : answers_).Take(base::Now());
  }
  void GiveAnswerBack(bool is_refusal) {
    base::MutexLock lock(mutex_);
    (is_refusal ? refusals_ : answers_).GiveBack();
  }

  // A permit for a watching call, held as long as the pointer, which may outlive `this`: the
  // daemon may drop a watcher's last request after the server has ended.
  absl::StatusOr<std::shared_ptr<const void>> TakeReservation() {
    auto watcher = std::make_shared<const char>();
    base::MutexLock lock(mutex_);
    watchers_.remove_if([](const std::weak_ptr<const void>& one) { return one.expired(); });
    if (watchers_.size() >= limits_.watchers)
      return absl::ResourceExhaustedError(
          absl::StrCat(limits_.watchers, " calls watch the daemon, which is the limit; end some, ",
                       "or call GetStatus now and then"));
    watchers_.emplace_back(watcher);
    return watcher;
  }

  void Begin() {
    base::MutexLock lock(mutex_);
    ++under_way_;
  }
  void End() {
    base::MutexLock lock(mutex_);
    if (--under_way_ == 0) changed_.NotifyAll();
  }

  // Waits until no call is in progress, at most for the time-out.
  void AwaitNone(base::Duration timeout) {
    const base::SteadyClock clock;
    const base::TimePoint deadline = clock.Now() + timeout;
    base::MutexLock lock(mutex_);
    for (auto now = clock.Now(); under_way_ > 0 && now < deadline; now = clock.Now())
      changed_.WaitFor(mutex_, deadline - now);
  }

 private:
  const Limits limits_;
  base::Mutex mutex_;
  base::CondVar changed_;
  base::TokenBucket answers_ PENSTOCK_GUARDED_BY(mutex_);
  base::TokenBucket refusals_ PENSTOCK_GUARDED_BY(mutex_);
  uint64_t under_way_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::list<std::weak_ptr<const void>> watchers_ PENSTOCK_GUARDED_BY(mutex_);
};

// One call, from its creation until gRPC is done with it.
class CallUnderWay {
 public:
  explicit CallUnderWay(Calls& calls) : calls_(&calls) { calls.Begin(); }
  CallUnderWay(const CallUnderWay&) = delete;
  CallUnderWay& operator=(const CallUnderWay&) = delete;
  ~CallUnderWay() { Done(); }

  // **Requires**: not done.
  base::Duration TakeAnswer(bool is_refusal) { return calls_->TakeAnswer(is_refusal); }
  void GiveAnswerBack(bool is_refusal) { calls_->GiveAnswerBack(is_refusal); }

  // Call it when gRPC is done, even if the object lives on.
  void Done() {
    if (calls_ != nullptr) calls_->End();
    calls_ = nullptr;
  }

 private:
  Calls* calls_;
};

}  // namespace penstock::rpc
