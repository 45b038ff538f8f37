// The place of one batch, and what is in it. Owned by the core; its arena alone changes its state.
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

// What a full slot holds. Sessions that want equal keys in one arena hold the same slot.
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

// How a feed's slots are filled, as its sessions' specs say.
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
  uint32_t holders = 0;
  std::vector<Session*> waiting;       // holders, while it fills
  std::list<Slot*>::iterator in_list;  // its place among the free or the cached
};

}  // namespace penstock::feed
