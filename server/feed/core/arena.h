// The slots of one user and size: which are free, which are cached and in what order, which key
// each one holds. Moves slots between states.
// **Ownership**: owned by the core, which also owns the slots.
#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/feed/core/slot.h"

namespace penstock::feed {

class Arena {
 public:
  void Add(Slot& slot);
  void Remove(Slot& slot);  // **Requires**: free or cached

  // The slot that holds this key, or is being filled with it; else nullptr.
  Slot* Find(const SlotKey& key) const;
  // Whether a slot can begin to fill.
  bool HasSpare() const { return !free_.empty() || !cached_.empty(); }
  // Takes a free slot, else the cached slot that has been unused for longest.
  Slot& Begin(const SlotKey& key, const Filling& filling);
  void Hold(Slot& slot);
  // Removes one holder. The last one leaves a full slot cached, or free if it is not to be kept,
  // and a filling one abandoned or free.
  void LetGo(Slot& slot);
  void Filled(Slot& slot);
  // Frees an abandoned slot once no worker has a row of it.
  void Drain(Slot& slot);

  // Free slots, then cached ones, those held longest ago first.
  std::vector<Slot*> Unused() const;
  // Makes a cached slot free. **Requires**: free or cached
  void Forget(Slot& slot);

  uint64_t size() const { return free_.size() + cached_.size() + held_ + filling_; }
  SlotCounts Count() const;

 private:
  void Move(Slot& slot, SlotEvent event);
  void Leave(Slot& slot);
  void Enter(Slot& slot);

  std::list<Slot*> free_;
  std::list<Slot*> cached_;  // least recently held first
  uint32_t held_ = 0;
  uint32_t filling_ = 0;  // includes abandoned slots
  uint32_t abandoned_ = 0;
  absl::flat_hash_map<SlotKey, Slot*> by_key_;
};

}  // namespace penstock::feed
