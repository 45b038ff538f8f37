// A place for one batch, and its content.
// **Ownership**: owned by the core; only its arena changes its state.
#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "server/feed/core/core.h"
#include "server/feed/core/row_ledger.h"
#include "server/feed/core/slot_state.h"

namespace penstock::feed {

class Arena;
class Session;

// What a full slot holds. In one arena, sessions that want equal keys hold the same slot.
struct SlotKey {
  UserId user;
  FeedId feed;
  uint64_t variant = 0;
  plan::Position position;

  bool operator==(const SlotKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const SlotKey& key) {
    return H::combine(std::move(h), key.user, key.feed, key.variant, key.position);
  }
};

// How a feed's slots are filled, from its sessions' specs.
struct Filling {
  FillPath fill_path = FillPath::kWorkers;
  uint32_t run = 1;
};

struct Slot {
  Slot(SlotId id, Arena& arena) : id(id), arena(arena) {}
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  // The next rows that were never given out.
  RowTask GiveFresh();

  const SlotId id;
  Arena& arena;
  SlotState state = SlotState::kFree;
  uint64_t generation = 0;
  SlotKey key;
  Filling filling;
  RowLedger rows;
  // Rows, from the first on, that the key's feed has completed here, in this batch or one before,
  // since another feed wrote to the slot.
  uint32_t completed = 0;
  Keep keep = Keep::kYes;
  uint32_t holders = 0;
  std::vector<Session*> waiting;       // holders while it fills
  std::list<Slot*>::iterator in_list;  // position in the list of free or cached slots
};

}  // namespace penstock::feed
