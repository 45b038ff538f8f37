// A worker slot: a place for a user's worker that has something to do. At most one worker decodes
// at it. It is for the user whose rows it was given last; once they are done, it is for whoever
// gives it rows next.
//
// **Ownership**: the supervisor. **Thread safety**: used by the supervisor's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "server/workers/item_times.h"
#include "server/workers/slot_choice.h"
#include "server/workers/slot_meter.h"
#include "server/workers/user_worker.h"
#include "server/workers/worker_slot_state.h"
#include "server/workers/worker_view.h"

namespace penstock::workers {

class WorkerSlot {
 public:
  WorkerSlot(uint32_t number, const base::BackOff::Options& back_off)
      : number_(number), state_(back_off) {}

  uint32_t number() const { return number_; }
  WorkerSlotState& state() { return state_; }
  const WorkerSlotState& state() const { return state_; }
  const SlotMeter& meter() const { return meter_; }

  // The worker that is there; null: nobody's.
  UserWorker* worker() { return worker_.get(); }
  const UserWorker* worker() const { return worker_.get(); }
  void SetWorker(std::unique_ptr<UserWorker> worker) { worker_ = std::move(worker); }
  // From now on there is none.
  std::unique_ptr<UserWorker> TakeWorker();

  bool IsFree() const { return worker_ == nullptr || worker_->IsFree(); }
  bool IsOpen(base::TimePoint now) const {
    return state_.IsOpen(now) && (worker_ == nullptr || !worker_->is_condemned());
  }
  // Has a worker that is ready, or can have one as soon as somebody wants it.
  bool IsServing(base::TimePoint now) const {
    return worker_ != nullptr && worker_->has_process() ? worker_->is_ready() : IsOpen(now);
  }
  SlotLoad Load(base::TimePoint now) const;
  WorkerView View(base::TimePoint now) const;

  // **Requires**: its worker has a process.
  void Give(const WorkItem& item, base::TimePoint now);
  // Adds what ended, with its costs, and notes how long items of this user take. Returns how the
  // worker's process ended, if it did.
  std::optional<DeadWorker> Collect(base::TimePoint now, Restarts& restarts, ItemTimes& item_times,
                                    std::vector<Outcome>& outcomes);
  void UpdateMeter(base::TimePoint now) {
    NoteBusy();
    meter_.Update(now);
  }
  // Its worker died, has no successor yet, and may have one now.
  bool IsRestartDue(base::TimePoint now) const {
    return worker_ != nullptr && !worker_->has_process() && state_.IsRestartDue(now);
  }

 private:
  void Charge(size_t from, ItemTimes& item_times, std::vector<Outcome>& outcomes);
  void NoteBusy() {
    if (worker_ != nullptr) meter_.AddBusy(worker_->TakeBusyNs());
  }

  const uint32_t number_;
  WorkerSlotState state_;
  SlotMeter meter_;
  std::unique_ptr<UserWorker> worker_;
};

}  // namespace penstock::workers
