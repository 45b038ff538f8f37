#include "server/export/device_slots.h"

#include <utility>
#include <vector>

#include "common/base/check.h"

namespace penstock::exporting {

void DeviceSlots::AddSlab(uint32_t slab, uint64_t bytes) {
  for (uint64_t offset = 0; slot_bytes_ <= bytes - offset; offset += slot_bytes_) {
    const uint32_t id = next_++;
    DeviceSlot& slot = slots_[id];
    slot.place = {.slab = slab, .offset = offset};
    slot.in_list = free_.insert(free_.end(), id);
  }
}

bool DeviceSlots::CanSpare(uint32_t slab) const {
  uint64_t theirs = 0;
  for (const auto& [id, slot] : slots_) {
    if (slot.place.slab != slab) continue;
    if (slot.holders > 0 || slot.state == State::kCopying) return false;
    ++theirs;
  }
  return slots_.size() - theirs >= reserved_;
}

void DeviceSlots::RemoveSlab(uint32_t slab) {
  PENSTOCK_CHECK(CanSpare(slab));
  std::vector<uint32_t> theirs;
  for (const auto& [id, slot] : slots_)
    if (slot.place.slab == slab) theirs.push_back(id);
  for (uint32_t id : theirs) {
    if (slots_.at(id).state == State::kReady) Forget(id);
    free_.erase(slots_.at(id).in_list);
    slots_.erase(id);
  }
}

void DeviceSlots::Unreserve(uint32_t depth) {
  PENSTOCK_CHECK(reserved_ >= depth);
  reserved_ -= depth;
}

std::optional<DeviceSlotId> DeviceSlots::Hold(const Content& content) {
  const auto found = by_content_.find(content);
  if (found == by_content_.end()) return std::nullopt;
  DeviceSlot& slot = slots_.at(found->second);
  if (slot.holders++ == 0 && slot.state == State::kReady) cached_.erase(slot.in_list);
  return DeviceSlotId(found->second);
}

std::optional<DeviceSlots::Taken> DeviceSlots::Take(const Content& content) {
  if (const std::optional<DeviceSlotId> held = Hold(content))
    return Taken{*held, Ready(*held) ? Found::kReady : Found::kComing};
  const std::optional<uint32_t> spare = Spare();
  if (!spare) return std::nullopt;
  DeviceSlot& slot = slots_.at(*spare);
  free_.erase(slot.in_list);
  slot.state = State::kCopying;
  slot.content = content;
  slot.holders = 1;
  by_content_[content] = *spare;
  return Taken{DeviceSlotId(*spare), Found::kMustBeCopied};
}

// Returns a free slot; else frees the least recently held cached one.
std::optional<uint32_t> DeviceSlots::Spare() {
  if (free_.empty() && !cached_.empty()) Forget(cached_.front());
  if (free_.empty()) return std::nullopt;
  return free_.front();
}

// Turns a cached slot into a free one.
void DeviceSlots::Forget(uint32_t id) {
  DeviceSlot& slot = slots_.at(id);
  PENSTOCK_CHECK(slot.state == State::kReady && slot.holders == 0);
  cached_.erase(slot.in_list);
  by_content_.erase(slot.content);
  slot.state = State::kFree;
  slot.in_list = free_.insert(free_.end(), id);
}

bool DeviceSlots::LetGo(DeviceSlotId id) {
  DeviceSlot& slot = slots_.at(id.value());
  PENSTOCK_CHECK(slot.holders > 0);
  if (--slot.holders > 0 || slot.state == State::kCopying) return false;
  slot.in_list = cached_.insert(cached_.end(), id.value());
  if (unheld_ == Unheld::kCache) return false;
  Forget(id.value());
  return true;
}

void DeviceSlots::Copied(DeviceSlotId id) {
  DeviceSlot& slot = slots_.at(id.value());
  PENSTOCK_CHECK(slot.state == State::kCopying);
  slot.state = State::kReady;
  if (slot.holders > 0) return;
  slot.in_list = cached_.insert(cached_.end(), id.value());
  Forget(id.value());
}

DeviceSlots::Counts DeviceSlots::Count() const {
  Counts counts;
  counts.slots = static_cast<uint32_t>(slots_.size());
  counts.free = static_cast<uint32_t>(free_.size());
  counts.cached = static_cast<uint32_t>(cached_.size());
  for (const auto& [id, slot] : slots_) {
    counts.copying += slot.state == State::kCopying ? 1 : 0;
    counts.held += slot.state == State::kReady && slot.holders > 0 ? 1 : 0;
  }
  return counts;
}

}  // namespace penstock::exporting
