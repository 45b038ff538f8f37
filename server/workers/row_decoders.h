// The interface through which the worker filler gets rows decoded. The supervisor implements it; in
// a simulation, workers without processes and threads do.
//
// **Thread safety**: the runner's thread only. No call blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/clock.h"
#include "server/workers/slots/slot_choice.h"
#include "server/workers/work.h"
#include "server/workers/worker_view.h"

namespace penstock::workers {

class RowDecoders {
 public:
  virtual ~RowDecoders() = default;

  virtual uint32_t count() const = 0;  // worker slots
  // How many more items Submit accepts for the user, given the maximum number of its worker slots.
  // Small, so that the earliest batch is finished first.
  virtual size_t HeadroomFor(uint32_t user, uint32_t most_worker_slots) const = 0;
  // Whether another item with `aside` may be submitted.
  virtual bool MayReadAside() const = 0;
  // **Requires**: there is headroom with the same maximum; otherwise the item ends as lost.
  virtual void Submit(const WorkItem& item, uint32_t most_worker_slots) = 0;

  // The worker slots that have something to do, by user.
  virtual std::vector<SlotHolding> Holdings() const = 0;
  // Makes one more of the user's worker slots accept no items, so that it becomes free for others.
  virtual void GiveWay(uint32_t user) = 0;
  // Nobody waits for a worker slot any more: all slots accept items again.
  virtual void NobodyWaits() = 0;
  // Set it while several users compete for worker slots: each slot then gets few items at a time.
  virtual void SetContended(bool contended) = 0;

  // Returns the outcomes since the last call.
  virtual std::vector<Outcome> Collect(base::TimePoint now) = 0;
  // The items whose reads were found to be overdue, each returned once. They use no more headroom,
  // and end like all others.
  virtual std::vector<uint64_t> TakeOverdue() = 0;
  // The workers that died since the last call, oldest first.
  virtual std::vector<WorkerDeath> TakeDeaths() = 0;
};

}  // namespace penstock::workers
