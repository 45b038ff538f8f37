// A worker slot: a place for a user's worker that has something to do. At most one worker decodes
// at it. It serves the user whose rows it was given last; when these are done, it is free for any
// user.
//
// **Ownership**: owned by the supervisor. **Thread safety**: the supervisor's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "server/workers/slots/item_times.h"
#include "server/workers/slots/slot_choice.h"
#include "server/workers/slots/slot_meter.h"
#include "server/workers/slots/worker_slot_state.h"
#include "server/workers/user_worker.h"
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

  // The worker there, or null.
  UserWorker* worker() { return worker_.get(); }
  const UserWorker* worker() const { return worker_.get(); }
  void SetWorker(std::unique_ptr<UserWorker> worker) { worker_ = std::move(worker); }
  // Removes the worker.
  std::unique_ptr<UserWorker> TakeWorker();
  // Whether others have waited for the slot for so long that its worker should be set aside.
  bool HoldsUpOthers(base::TimePoint now, base::Duration patience) const {
    return !IsFree() && !state_.is_retiring() && state_.HoldsUpOthers(now, patience);
  }
  // Removes the worker with its unfinished items. **Requires**: it has some.
  std::unique_ptr<UserWorker> SetAside(base::TimePoint now);

  bool IsFree() const { return worker_ == nullptr || worker_->IsFree(); }
  bool IsOpen(base::TimePoint now) const {
    return state_.IsOpen(now) && (worker_ == nullptr || !worker_->is_condemned());
  }
  // Whether it has a ready worker, or can have one as soon as it is needed.
  bool IsServing(base::TimePoint now) const {
    return worker_ != nullptr && worker_->has_process() ? worker_->is_ready() : IsOpen(now);
  }
  SlotLoad Load(base::TimePoint now) const;
  WorkerView View(base::TimePoint now) const;

  // **Requires**: its worker has a process.
  void Give(const WorkItem& item, base::TimePoint now);
  // Appends the outcomes with their costs, and records how long items of this user take. Returns
  // how the worker's process ended, if it did.
  std::optional<DeadWorker> Collect(base::TimePoint now, Restarts& restarts, ItemTimes& item_times,
                                    std::vector<Outcome>& outcomes);
  void UpdateMeter(base::TimePoint now) {
    NoteBusy();
    meter_.Update(now);
  }
  // Its worker died without a successor, and a new one may start now.
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
