// The life of one worker process: it starts, becomes ready, serves, and may be killed for one of
// several reasons. Decides what its death means for the sample that it was decoding. Pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/posix/process.h"
#include "server/workers/queue/worker_queue.h"

namespace penstock::workers {

// Why the supervisor killed a worker, if it did.
enum class KillReason { kNone, kNotReady, kTimedOut, kBroken, kDoesNotRead, kNotSent, kCrowded };

// Whether the sample caused the death. It did, unless something else sent SIGKILL, or we killed the
// worker because it was not ready, did not read its socket, could not be sent a segment, or had no
// room for input.
WorkerQueue::InHandEnds EndOf(KillReason reason, const posix::Exit& exit);

// Whether its sandbox killed the worker for a system call that no decoder makes. The cause is an
// attack, or a decoder that needs a call missing from the list in confine.cc.
bool IsForbiddenCall(const posix::Exit& exit);

// A worker that was replaced through no fault of its own.
bool IsBlameless(KillReason reason);

// "killed by signal 11 (Segmentation fault)"
std::string Describe(KillReason reason, const posix::Exit& exit);

// A worker process that has died.
struct DeadWorker {
  pid_t pid = 0;
  std::string reason, how;  // with and without the sample that it was decoding
  bool was_ready = false, blameless = false, forbidden_call = false;
  uint64_t account = 0;    // account to charge; 0: nobody
  std::string words = {};  // the beginning of what it wrote to standard error
};

class WorkerLife {
 public:
  struct TimeOuts {
    base::Duration start, sample;
  };

  void NoteReady(base::TimePoint now) {
    if (!ready_at_) ready_at_ = now;
  }
  bool was_ready() const { return ready_at_.has_value(); }

  // Whether the worker notified us at most once for each item that ended, as it does after an
  // answer. One that notifies without answering would keep the daemon's thread busy. Call it after
  // the answers that preceded the notifications were collected.
  bool AreAnswersEnough(uint64_t notified, uint64_t ended);

  // Returns whether the worker must be killed now. The first reason counts.
  bool Condemn(KillReason reason);
  bool is_condemned() const { return kill_reason_ != KillReason::kNone; }
  KillReason kill_reason() const { return kill_reason_; }

  // Condemns a worker that did not become ready in time, or takes too long for a sample.
  // `claims_ready`: as reported by the worker. `oldest_since`: when it got its oldest request, if
  // it has one. Returns whether it must be killed now.
  bool CheckTimeOuts(base::TimePoint now, bool claims_ready,
                     std::optional<base::TimePoint> oldest_since, const TimeOuts& time_outs);

 private:
  KillReason kill_reason_ = KillReason::kNone;
  uint64_t unused_answers_ = 0;  // items that ended without a notification so far
  // When CheckTimeOuts first saw the process, and first saw it ready.
  std::optional<base::TimePoint> started_at_, ready_at_;
};

}  // namespace penstock::workers
