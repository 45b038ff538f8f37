#include "server/workers/slots/worker_slot_state.h"

namespace penstock::workers {

void WorkerSlotState::OnDeath(const DeadWorker& dead, base::TimePoint now, Restarts& restarts) {
  last_death_ = dead.reason;
  died_ = true;
  failed_starts_ = dead.was_ready ? 0 : failed_starts_ + 1;
  if (dead.blameless || dead.account != 0) return;
  ScheduleRestart(now, dead.how, restarts);
}

void WorkerSlotState::OnStartFailed(const std::string& why, base::TimePoint now,
                                    Restarts& restarts) {
  last_death_ = why;
  died_ = true;
  ++failed_starts_;
  ScheduleRestart(now, why, restarts);
}

void WorkerSlotState::ScheduleRestart(base::TimePoint now, const std::string& reason,
                                      Restarts& restarts) {
  if (restarts.MayStart(failed_starts_, now)) {
    closed_until_ = now + back_off_.Next();
    return;
  }
  stopped_ = true;
  restarts.GiveUp(reason);
}

void WorkerSlotState::OnStarted() {
  if (died_) ++restarts_;
  died_ = false;
}

WorkerState WorkerSlotState::View(base::TimePoint now, bool has_process, bool is_ready) const {
  if (retiring_) return WorkerState::kRetiring;
  if (stopped_) return WorkerState::kStopped;
  if (has_process) return is_ready ? WorkerState::kRunning : WorkerState::kStarting;
  return died_ || now < closed_until_ ? WorkerState::kRestarting : WorkerState::kUnused;
}

}  // namespace penstock::workers
