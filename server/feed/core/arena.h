// The slots of one user and one size: which are free, which are cached and for how long, which
// holds what. Moves slots between their states; owned by the core, which owns the slots too.
#pragma once

#include <cstdint>
#include <list>

#include "absl/container/flat_hash_map.h"
#include "server/feed/core/slot.h"

namespace penstock::feed {

class Arena {
 public:
  void Add(Slot& slot);
  void Remove(Slot& slot);  // free or cached

  // The slot that holds, or is being filled with, what the key says; none: nullptr.
  Slot* Find(const SlotKey& key) const;
  // A slot can begin to fill.
  bool HasSpare() const { return !free_.empty() || !cached_.empty(); }
  // Takes a free slot, or else the cached one that nobody has held for longest.
  Slot& Begin(const SlotKey& key, const Filling& filling);
  void Hold(Slot& slot);
  // One holder less. The last one leaves a full slot cached, a filling one abandoned or free.
  void LetGo(Slot& slot);
  void Filled(Slot& slot);
  // An abandoned slot is free once no worker has a row of it.
  void Drain(Slot& slot);

  uint64_t size() const { return free_.size() + cached_.size() + held_ + filling_; }
  SlotCounts Count() const;

 private:
  void Move(Slot& slot, SlotEvent event);
  void Leave(Slot& slot);
  void Enter(Slot& slot);

  std::list<Slot*> free_;
  std::list<Slot*> cached_;  // least recently held first
  uint32_t held_ = 0;
  uint32_t filling_ = 0;  // abandoned ones included
  absl::flat_hash_map<SlotKey, Slot*> by_key_;
};

}  // namespace penstock::feed
