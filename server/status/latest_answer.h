// The latest answer of somebody who may be slow or stuck: asks, waits at most for `patience`, and
// keeps what came. While a question is unanswered, it is not asked again, and nobody waits again.
//
// **Thread safety**: one thread asks; the answer may arrive on any thread at any later time, also
// after this is destroyed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace penstock::status {

template <typename T>
class LatestAnswer {
 public:
  using Done = std::function<void(T)>;
  // Asks. False: nobody accepts the question now, and `done` is never called.
  using Ask = std::function<bool(Done done)>;

  explicit LatestAnswer(Ask ask, base::Duration patience)
      : ask_(std::move(ask)), patience_(patience) {}

  void Renew() {
    {
      base::MutexLock lock(inbox_->mutex);
      if (inbox_->asked) return;
      inbox_->asked = true;
    }
    const bool taken = ask_([inbox = inbox_](T answer) {
      base::MutexLock lock(inbox->mutex);
      inbox->answer = std::move(answer);
      inbox->at = base::Now();
      inbox->asked = false;
      inbox->answered.NotifyAll();
    });
    const base::TimePoint deadline = base::Now() + patience_;
    base::MutexLock lock(inbox_->mutex);
    if (!taken) inbox_->asked = false;
    for (base::TimePoint now = base::Now(); inbox_->asked && now < deadline; now = base::Now())
      inbox_->answered.WaitFor(inbox_->mutex, deadline - now);
  }

  // Calls `look` with the answer and when it came, or with null. Not for long: an answer that comes
  // meanwhile waits.
  template <typename Look>
  auto With(Look look) const {
    base::MutexLock lock(inbox_->mutex);
    return look(inbox_->answer ? &*inbox_->answer : nullptr, inbox_->at);
  }

 private:
  // Shared with the question, which may be answered after this is destroyed.
  struct Inbox {
    base::Mutex mutex;
    base::CondVar answered;
    bool asked PENSTOCK_GUARDED_BY(mutex) = false;
    std::optional<T> answer PENSTOCK_GUARDED_BY(mutex);
    base::TimePoint at PENSTOCK_GUARDED_BY(mutex);
  };

  const Ask ask_;
  const base::Duration patience_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
};

}  // namespace penstock::status
