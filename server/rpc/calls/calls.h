// The calls in progress. At shutdown the server waits for their responses, but not for idle
// connections. Above a limit, calls no longer reach the daemon. Responses are paced, so that calls
// use little CPU time.
// **Ownership**: owned by the server. **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/shares.h"
#include "common/base/status.h"
#include "common/base/token_bucket.h"
#include "server/rpc/calls/reservations.h"

namespace penstock::rpc {

class Calls {
 public:
  struct Limits {
    uint64_t at_once = 0;   // calls that are answered once, orders, indexing
    uint32_t watchers = 0;  // watching calls
    uint32_t answers_per_second = 1, answers_in_a_burst = 0;
    uint64_t answer_bytes = 0;  // that clients have not read yet; see HoldAnswer
  };
  explicit Calls(const Limits& limits)
      : limits_(limits),
        answers_({.per_second = limits.answers_per_second, .burst = limits.answers_in_a_burst}),
        refusals_(answers_),
        unread_(limits.answer_bytes),
        admitted_(limits.at_once),
        watches_(limits.watchers),
        traces_(kMostTraces) {}

  // Counts a call that reaches the daemon. Each user may have half of what the others leave.
  absl::Status Admit(uint32_t user) {
    base::MutexLock lock(mutex_);
    if (admitted_.CanTake(user, false)) {
      admitted_.Add(user);
      return absl::OkStatus();
    }
    return absl::ResourceExhaustedError(
        absl::StrCat(admitted_.HeldBy(user), " calls of this user are in progress, its share of ",
                     limits_.at_once, "; wait for responses before making more"));
  }
  void Leave(uint32_t user) {
    base::MutexLock lock(mutex_);
    admitted_.Remove(user);
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

  // Counts the bytes of a large response until it is sent, by user, each of whom may hold half of
  // what the others leave: a client that does not read keeps it in the daemon's memory. Small ones
  // are bounded by the number of calls.
  absl::StatusOr<uint64_t> HoldAnswer(uint32_t user, uint64_t bytes) {
    if (bytes <= kSmallAnswer) return 0;
    base::MutexLock lock(mutex_);
    if (!unread_.CanTake(user, false, bytes))
      return absl::ResourceExhaustedError(absl::StrCat(
          "the response has ", bytes, " bytes, and this user's calls have not read ",
          unread_.HeldBy(user), " of earlier ones; read them, or ask for less at once"));
    unread_.Add(user, bytes);
    return bytes;
  }
  void ReleaseAnswer(uint32_t user, uint64_t bytes) {
    base::MutexLock lock(mutex_);
    unread_.Remove(user, bytes);
  }

  // A permit for a watching call, or for a trace that may not be read yet, held as long as the
  // pointer. It may outlive `this`: the daemon may drop a watcher's last request after the server
  // has ended.
  absl::StatusOr<std::shared_ptr<const void>> TakeWatch(uint32_t user) {
    if (auto permit = watches_.Take(user)) return permit;
    return absl::ResourceExhaustedError(
        absl::StrCat("this user has its share of the ", limits_.watchers,
                     " calls that may watch the daemon; end some, or call GetStatus now and then"));
  }
  absl::StatusOr<std::shared_ptr<const void>> TakeTrace(uint32_t user) {
    if (auto permit = traces_.Take(user)) return permit;
    return absl::ResourceExhaustedError(
        absl::StrCat("this user has its share of the ", kMostTraces,
                     " traces that the daemon keeps until they are read; read or end them"));
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
  static constexpr uint64_t kSmallAnswer = uint64_t{64} << 10;
  static constexpr uint64_t kMostTraces = 8;

  const Limits limits_;
  base::Mutex mutex_;
  base::CondVar changed_;
  base::TokenBucket answers_ PENSTOCK_GUARDED_BY(mutex_);
  base::TokenBucket refusals_ PENSTOCK_GUARDED_BY(mutex_);
  base::Shares unread_ PENSTOCK_GUARDED_BY(mutex_);
  base::Shares admitted_ PENSTOCK_GUARDED_BY(mutex_);
  uint64_t under_way_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // refused ones, too
  Reservations watches_, traces_;
};

// One call, from its creation until gRPC is done with it.
class CallUnderWay {
 public:
  CallUnderWay(Calls& calls, uint32_t user) : calls_(&calls), user_(user) { calls.Begin(); }
  CallUnderWay(const CallUnderWay&) = delete;
  CallUnderWay& operator=(const CallUnderWay&) = delete;
  ~CallUnderWay() { Done(); }

  // **Requires**: not done.
  base::Duration TakeAnswer(bool is_refusal) { return calls_->TakeAnswer(is_refusal); }
  void GiveAnswerBack(bool is_refusal) { calls_->GiveAnswerBack(is_refusal); }
  // Both last until it is done. **Requires**: not done, and called once.
  absl::Status Admit() {
    PENSTOCK_RETURN_IF_ERROR(calls_->Admit(user_));
    admitted_ = true;
    return absl::OkStatus();
  }
  absl::Status HoldAnswer(uint64_t bytes) {
    PENSTOCK_ASSIGN_OR_RETURN(held_, calls_->HoldAnswer(user_, bytes));
    return absl::OkStatus();
  }

  // Call it when gRPC is done, even if the object lives on.
  void Done() {
    if (calls_ == nullptr) return;
    if (held_ > 0) calls_->ReleaseAnswer(user_, held_);
    if (admitted_) calls_->Leave(user_);
    calls_->End();
    calls_ = nullptr;
  }

 private:
  Calls* calls_;
  const uint32_t user_;
  bool admitted_ = false;
  uint64_t held_ = 0;  // bytes of the response
};

}  // namespace penstock::rpc
