// The state of a worker slot: whether it accepts rows, when its next worker may start, and what
// became of the last one. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/back_off.h"
#include "common/base/clock.h"
#include "server/workers/restart.h"
#include "server/workers/worker_life.h"
#include "server/workers/worker_view.h"

namespace penstock::workers {

class WorkerSlotState {
 public:
  explicit WorkerSlotState(const base::BackOff::Options& back_off) : back_off_(back_off) {}

  // Whether a worker at it may be given rows.
  bool IsOpen(base::TimePoint now) const { return !retiring_ && !stopped_ && now >= closed_until_; }
  // It accepts no rows before that time.
  void CloseUntil(base::TimePoint time) { closed_until_ = time; }

  // Whether it ends after its current items.
  void SetRetiring(bool retiring) { retiring_ = retiring; }
  bool is_retiring() const { return retiring_; }

  // Whether it accepts no items until it is free, so that another user can have it.
  void GiveWay(base::TimePoint now) {
    if (!gives_way_since_) gives_way_since_ = now;
  }
  void KeepPlace() { gives_way_since_.reset(); }
  bool gives_way() const { return gives_way_since_.has_value(); }
  // Whether it was asked to give way at least `patience` ago, and its items have not ended since.
  bool HoldsUpOthers(base::TimePoint now, base::Duration patience) const {
    return gives_way_since_ && now - *gives_way_since_ >= patience;
  }

  // Its worker died. The account that is charged waits before its next attempt. If nobody is
  // charged, the worker slot pauses, or stays down once the restart budget is used up.
  void OnDeath(const DeadWorker& dead, base::TimePoint now, Restarts& restarts);
  // No worker could be started.
  void OnStartFailed(const std::string& why, base::TimePoint now, Restarts& restarts);
  // A worker was started. Counts as a restart if the last one died.
  void OnStarted();
  // A user has a worker there, whatever became of the last one.
  void OnTaken() { died_ = false; }
  // Rows were decoded, so the next pause is the shortest again.
  void OnDecoded() { back_off_.Reset(); }

  // The last worker died, and the next one is to start automatically.
  bool awaits_restart() const { return died_; }
  bool IsRestartDue(base::TimePoint now) const { return died_ && IsOpen(now); }

  WorkerState View(base::TimePoint now, bool has_process, bool is_ready) const;
  uint64_t restarts() const { return restarts_; }
  const std::string& last_death() const { return last_death_; }

 private:
  void ScheduleRestart(base::TimePoint now, const std::string& reason, Restarts& restarts);

  bool retiring_ = false;
  bool stopped_ = false;  // permanent
  bool died_ = false;     // its worker
  std::optional<base::TimePoint> gives_way_since_;
  base::TimePoint closed_until_{};
  uint32_t failed_starts_ = 0;  // consecutive workers that ended before they were ready
  base::BackOff back_off_;
  uint64_t restarts_ = 0;
  std::string last_death_;
};

}  // namespace penstock::workers
