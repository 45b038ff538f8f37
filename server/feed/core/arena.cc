#include "server/feed/core/arena.h"

#include <algorithm>

#include "common/base/check.h"

namespace penstock::feed {

void Arena::Add(Slot& slot) {
  PENSTOCK_CHECK(slot.state == SlotState::kFree);
  Enter(slot);
}

void Arena::Remove(Slot& slot) {
  Forget(slot);
  Leave(slot);
}

Slot* Arena::Find(const SlotKey& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}

Slot& Arena::Begin(const SlotKey& key, const Filling& filling) {
  PENSTOCK_CHECK(HasSpare());
  Slot& slot = free_.empty() ? *cached_.front() : *free_.front();
  Move(slot, SlotEvent::kBegin);
  ++slot.generation;
  if (slot.key.feed != key.feed) slot.completed = 0;
  slot.key = key;
  slot.filling = filling;
  slot.keep = Keep::kYes;
  slot.rows.Reset(key.position.rows);
  PENSTOCK_CHECK(by_key_.emplace(key, &slot).second);
  return slot;
}

void Arena::Hold(Slot& slot) {
  Move(slot, SlotEvent::kHold);
  ++slot.holders;
}

void Arena::LetGo(Slot& slot) {
  PENSTOCK_CHECK(slot.holders > 0);
  if (--slot.holders > 0) return;
  Move(slot, slot.keep == Keep::kYes ? SlotEvent::kLastLetGo : SlotEvent::kDropped);
  if (slot.state == SlotState::kAbandoned) Drain(slot);
}

void Arena::Filled(Slot& slot) {
  PENSTOCK_CHECK(slot.rows.AllDone());
  slot.completed = std::max(slot.completed, slot.key.position.rows);
  Move(slot, SlotEvent::kFilled);
}

void Arena::Drain(Slot& slot) {
  if (slot.rows.given() == 0) Move(slot, SlotEvent::kDrained);
}

void Arena::Forget(Slot& slot) {
  if (slot.state == SlotState::kCached) Move(slot, SlotEvent::kForget);
  PENSTOCK_CHECK(slot.state == SlotState::kFree);
}

std::vector<Slot*> Arena::Unused() const {
  std::vector<Slot*> unused(free_.begin(), free_.end());
  unused.insert(unused.end(), cached_.begin(), cached_.end());
  return unused;
}

SlotCounts Arena::Count() const {
  SlotCounts counts;
  counts.slots = static_cast<uint32_t>(size());
  counts.held = held_;
  counts.cached = static_cast<uint32_t>(cached_.size());
  counts.filling = filling_;
  counts.abandoned = abandoned_;
  return counts;
}

// The only place where a slot's state changes. An impossible event is our bug.
void Arena::Move(Slot& slot, SlotEvent event) {
  const std::optional<SlotState> next = Next(slot.state, event);
  PENSTOCK_CHECK(next.has_value());
  if (*next == slot.state) return;
  Leave(slot);
  slot.state = *next;
  Enter(slot);
}

// Removes the slot from the lists of its state.
void Arena::Leave(Slot& slot) {
  switch (slot.state) {
    case SlotState::kFree:
      free_.erase(slot.in_list);
      break;
    case SlotState::kCached:
      cached_.erase(slot.in_list);
      break;
    case SlotState::kHeld:
      --held_;
      break;
    case SlotState::kAbandoned:
      --abandoned_;
      [[fallthrough]];
    case SlotState::kFilling:
      --filling_;
      break;
  }
}

// Adds the slot to the lists of its state. Full slots can be found by their key. A slot that is
// free, abandoned or about to be refilled can't be found by its old key.
void Arena::Enter(Slot& slot) {
  switch (slot.state) {
    case SlotState::kFree:
      slot.in_list = free_.insert(free_.end(), &slot);
      break;
    case SlotState::kCached:
      slot.in_list = cached_.insert(cached_.end(), &slot);
      return;
    case SlotState::kHeld:
      ++held_;
      return;
    case SlotState::kAbandoned:
      ++abandoned_;
      [[fallthrough]];
    case SlotState::kFilling:
      ++filling_;
      break;
  }
  if (const auto found = by_key_.find(slot.key); found != by_key_.end() && found->second == &slot) {
    by_key_.erase(found);
  }
}

}  // namespace penstock::feed
