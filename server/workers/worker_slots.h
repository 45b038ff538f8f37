// Who is at which worker slot. Pure but for the clock that WorkerSlot reads.
//
// **Ownership**: the supervisor. **Thread safety**: used by the supervisor's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "server/workers/slot_choice.h"
#include "server/workers/worker_slot.h"

namespace penstock::workers {

class WorkerSlots {
 public:
  size_t size() const { return slots_.size(); }
  auto begin() const { return slots_.begin(); }
  auto end() const { return slots_.end(); }

  // Its number is that of the worker slots so far.
  void Add(std::unique_ptr<WorkerSlot> slot) { slots_.push_back(std::move(slot)); }
  // All but the first `count` finish what they have.
  void RetireBeyond(size_t count);
  // Removes the retired that are free, from the back only: a worker slot's number is its index.
  // Returns their workers.
  std::vector<std::unique_ptr<UserWorker>> RemoveRetired();

  // As slot_choice.h says.
  size_t HeadroomFor(uint32_t user, size_t depth, uint32_t most, base::TimePoint now) const;
  WorkerSlot* Choose(uint32_t user, size_t depth, base::TimePoint now) const;
  std::vector<SlotHolding> Holdings(base::TimePoint now) const { return HoldingsOf(Loads(now)); }
  // One more worker slot of the user takes nothing more until it is free; all go on.
  void GiveWay(uint32_t user, base::TimePoint now);
  void NobodyWaits();

  uint32_t serving(base::TimePoint now) const;
  uint64_t restarts() const;  // since the start
  double utilisation() const;
  std::vector<WorkerView> View(base::TimePoint now) const;

 private:
  std::span<const SlotLoad> Loads(base::TimePoint now) const;

  std::vector<std::unique_ptr<WorkerSlot>> slots_;
  uint64_t removed_restarts_ = 0;        // of worker slots that are there no more
  mutable std::vector<SlotLoad> loads_;  // memory that Loads uses again: it is asked for each row
};

}  // namespace penstock::workers
