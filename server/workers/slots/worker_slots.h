// The worker slots and the workers at them. Pure except for the clock that WorkerSlot reads.
//
// **Ownership**: owned by the supervisor. **Thread safety**: the supervisor's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "server/workers/slots/slot_choice.h"
#include "server/workers/slots/worker_slot.h"

namespace penstock::workers {

class WorkerSlots {
 public:
  size_t size() const { return slots_.size(); }
  auto begin() const { return slots_.begin(); }
  auto end() const { return slots_.end(); }

  // **Requires**: its number is the number of worker slots so far.
  void Add(std::unique_ptr<WorkerSlot> slot) { slots_.push_back(std::move(slot)); }
  // All slots from `count` on finish their items and then retire.
  void RetireBeyond(size_t count);
  // Removes retired slots that are free, but only from the back, because a worker slot's number is
  // its index. Returns their workers.
  std::vector<std::unique_ptr<UserWorker>> RemoveRetired();

  // As in slot_choice.h.
  size_t HeadroomFor(uint32_t user, size_t depth, uint32_t most, base::TimePoint now) const;
  WorkerSlot* Choose(uint32_t user, size_t depth, uint32_t most, base::TimePoint now) const;
  std::vector<SlotHolding> Holdings(base::TimePoint now, std::span<const AsideLoad> aside) const {
    return ToHoldings(Loads(now), aside);
  }
  // GiveWay makes one more worker slot accept no items until it is free; NobodyWaits lets all
  // accept items again.
  void GiveWay(uint32_t user, base::TimePoint now);
  void NobodyWaits();

  uint32_t serving(base::TimePoint now) const;
  uint64_t restarts() const;  // since the start
  double utilisation() const;
  std::vector<WorkerView> View(base::TimePoint now) const;

 private:
  std::span<const SlotLoad> Loads(base::TimePoint now) const;

  std::vector<std::unique_ptr<WorkerSlot>> slots_;
  uint64_t removed_restarts_ = 0;        // of worker slots that no longer exist
  mutable std::vector<SlotLoad> loads_;  // memory reused by Loads, which is called for each row
};

}  // namespace penstock::workers
