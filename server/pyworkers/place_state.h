// The life of a place of a host, where one Python worker runs at a time: it is asked for, enters
// through the doorway, becomes ready, and ends, on its own or killed. Pure: the time is an
// argument.
//
// **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/back_off.h"
#include "common/base/clock.h"
#include "common/posix/process.h"
#include "server/pyworkers/limits.h"

namespace penstock::pyworkers {

enum class PlaceState {
  kEmpty,    // no process
  kAsked,    // the host is to fork one
  kEntered,  // it has its channel, and imports what it needs
  kReady,    // it makes batches
  kDead,     // it has ended; the host may still say how
};

enum class PlaceEvent {
  kAsk,
  kEnter,
  kReady,
  kEnd,   // its process is gone
  kTold,  // the host said how it ended, or took too long to
};

// The next state; nullopt if the event is impossible in that state.
std::optional<PlaceState> Next(PlaceState state, PlaceEvent event);

// Why the daemon killed a Python worker, if it did.
enum class KillCause {
  kNone,
  kNotReady,
  kNoProgress,
  kBroken,
  kLeft,  // it closed its connection, mostly because it was ending anyway
};

// "killed because it was not ready in time". `exit`: as its host reported it, if it did.
std::string Describe(KillCause cause, const std::optional<posix::Exit>& exit);

class PlaceLife {
 public:
  // `start_timeout`: from Ask until the worker says that it is ready.
  explicit PlaceLife(base::Duration start_timeout) : start_timeout_(start_timeout) {}

  PlaceState state() const { return state_; }
  // Whether a process may live there, or is to be forked.
  bool has_process() const { return state_ != PlaceState::kEmpty && state_ != PlaceState::kDead; }
  uint32_t start() const { return start_; }  // the last one asked for; 0: none yet
  KillCause kill_cause() const { return kill_cause_; }

  bool MayAsk(base::TimePoint now) const {
    return state_ == PlaceState::kEmpty && now >= ask_after_;
  }
  // Returns the number of the start to ask the host for. **Requires**: MayAsk.
  uint32_t Ask(base::TimePoint now);

  // A process says that it is this start. False: it is not the one asked for, or is to be killed.
  bool Enter(uint32_t start);
  // Counts once, and only after Enter.
  void NoteReady();
  // It made a batch: the next one may be started at once.
  void Worked() { back_off_.Reset(); }

  // Returns whether the worker must be killed now. The first cause counts.
  bool Condemn(KillCause cause);
  // Condemns a worker that was not ready in time, or whose batch in hand makes no progress.
  // `progress`: when it last got a batch or moved to another row; nullopt: it has no batch.
  bool CheckTimeOuts(base::TimePoint now, std::optional<base::TimePoint> progress,
                     base::Duration timeout);

  // Its process is gone. **Requires**: kAsked, kEntered or kReady.
  void NoteEnd(base::TimePoint now);
  // Empties the place of a dead worker if its host said how it ended, or kAwaitWords have passed.
  // Returns whether it did.
  bool Clear(bool host_told, base::TimePoint now);

 private:
  void Apply(PlaceEvent event);

  const base::Duration start_timeout_;
  PlaceState state_ = PlaceState::kEmpty;
  uint32_t start_ = 0;
  KillCause kill_cause_ = KillCause::kNone;
  base::TimePoint asked_at_{}, ended_at_{};
  base::TimePoint ask_after_ = base::TimePoint::min();
  base::BackOff back_off_{kStartAgain};
};

}  // namespace penstock::pyworkers
