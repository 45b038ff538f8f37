// Which worker slot takes a user's next item, and how many more it may give. Pure functions of what
// the worker slots have to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace penstock::workers {

// What one worker slot has to do.
struct SlotLoad {
  bool is_open = false;  // takes rows
  bool is_retiring = false;
  bool gives_way = false;        // takes nothing more until it is free
  std::optional<uint32_t> user;  // whose worker is there; nobody's: none
  size_t outstanding = 0;        // items; 0: it is free

  bool IsFree() const { return outstanding == 0; }
  bool IsOf(uint32_t wanted) const { return user == wanted; }
};

// A user that has worker slots now.
struct SlotHolding {
  uint32_t user = 0;
  uint32_t worker_slots = 0;
  uint32_t giving_way = 0;  // of those: they take nothing more until they are free
};

// How many more items of the user they take now, if it has `most_worker_slots` at most and each
// takes `depth` items at once.
size_t HeadroomFor(std::span<const SlotLoad> slots, uint32_t user, size_t depth,
                   uint32_t most_worker_slots);

// The worker slot for the user's next item: that with the least to do; of free ones the user's own
// first, then one without a worker.
std::optional<size_t> ChooseSlot(std::span<const SlotLoad> slots, uint32_t user, size_t depth);

// The user's worker slot that is free soonest, but for those that give way already.
std::optional<size_t> ChooseToGiveWay(std::span<const SlotLoad> slots, uint32_t user);

// Who has worker slots: all users that have something to do, by number.
std::vector<SlotHolding> HoldingsOf(std::span<const SlotLoad> slots);

}  // namespace penstock::workers
