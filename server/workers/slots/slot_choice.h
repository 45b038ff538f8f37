// Chooses the worker slot for a user's next item, and says how many more items the user may give.
// Pure functions of the worker slots' loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/clock.h"

namespace penstock::workers {

// The load of one worker slot.
struct SlotLoad {
  bool is_open = false;  // accepts rows
  bool is_retiring = false;
  bool gives_way = false;             // accepts no items until it is free
  std::optional<uint32_t> user = {};  // the user of the worker there; unset: no worker
  size_t outstanding = 0;             // items; 0: free
  base::Duration uncharged{};         // how long it has been occupied since its last charge

  bool IsFree() const { return outstanding == 0; }
  bool IsOf(uint32_t wanted) const { return user == wanted; }
};

// A user that has worker slots, or workers set aside, now.
struct SlotHolding {
  uint32_t user = 0;
  uint32_t worker_slots = 0;
  uint32_t giving_way = 0;  // of these: accept no more items until they are free
  // Workers of the user that were set aside and still have items.
  uint32_t set_aside = 0;
  // How long its slots and these workers have been occupied in all, since they were last charged.
  base::Duration uncharged{};
};

// How many more items of the user the slots accept now, if it may have at most `most_worker_slots`
// and each slot accepts `depth` items at once.
size_t HeadroomFor(std::span<const SlotLoad> slots, uint32_t user, size_t depth,
                   uint32_t most_worker_slots);

// The slot with the least to do; not a free one if the user already has `most_worker_slots` with
// something to do. Among free slots it prefers the user's own, then one without a worker.
std::optional<size_t> ChooseSlot(std::span<const SlotLoad> slots, uint32_t user, size_t depth,
                                 uint32_t most_worker_slots);

// The user's worker slot that will be free soonest, except those that already give way.
std::optional<size_t> ChooseToGiveWay(std::span<const SlotLoad> slots, uint32_t user);

// A worker that left its worker slot with unfinished items.
struct AsideLoad {
  uint32_t user = 0;
  base::Duration uncharged{};  // as in SlotLoad
};

// The users that have something to do at worker slots, or set aside, by number.
std::vector<SlotHolding> ToHoldings(std::span<const SlotLoad> slots,
                                    std::span<const AsideLoad> aside = {});

}  // namespace penstock::workers
