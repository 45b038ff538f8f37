// Which batches are on a GPU, and where: the device slots of one user, one GPU and one size, cut
// from slabs. Pure: no CUDA, threads or clocks.
//
// **Thread safety**: called by one owner, the runner's thread.
//
// Invariants:
//
// - A device slot is free, being copied to, or ready. A ready slot without holders is cached; the
//   least recently held is evicted first.
// - Equal content is on the GPU once: sessions that want content that is there, or on its way, hold
//   the same slot.
// - Content is kept only if someone held it when its copy completed. Until then a holder's lease
//   keeps the pool from refilling the host slot; without one the bytes could be anything.
// - A copy into a slot starts only when nobody holds the slot's previous content.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>

#include "absl/container/flat_hash_map.h"
#include "common/base/strong_id.h"

namespace penstock::exporting {

using DeviceSlotId = base::StrongId<struct DeviceSlotTag, uint32_t>;

// A slot of the pool in one generation: equal contents have equal bytes.
struct Content {
  uint32_t slot = 0;
  uint64_t generation = 0;

  bool operator==(const Content&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Content& content) {
    return H::combine(std::move(h), content.slot, content.generation);
  }
};

struct DevicePlace {
  uint32_t slab = 0;
  uint64_t offset = 0;
  bool operator==(const DevicePlace&) const = default;
};

class DeviceSlots {
 public:
  // kForget: content without holders is forgotten at once, for tests that look for premature reuse.
  enum class Unheld { kCache, kForget };
  explicit DeviceSlots(uint64_t slot_bytes, Unheld unheld = Unheld::kCache)
      : slot_bytes_(slot_bytes), unheld_(unheld) {}

  uint64_t slot_bytes() const { return slot_bytes_; }

  // Adds a slab, of which `bytes` are for slots.
  void AddSlab(uint32_t slab, uint64_t bytes);
  // Whether the slab can be removed: none of its slots is held or being copied to, and the
  // remaining slots suffice for the reservations. Removing it forgets what it caches.
  bool CanSpare(uint32_t slab) const;
  void RemoveSlab(uint32_t slab);  // requires CanSpare

  // Each session reserves the most slots that it will hold, so that none waits for another's slots.
  // A session may reserve before the slab that it waits for exists.
  void Reserve(uint32_t depth) { reserved_ += depth; }
  void Unreserve(uint32_t depth);
  uint64_t reserved() const { return reserved_; }
  uint64_t size() const { return slots_.size(); }

  enum class Found { kReady, kComing, kMustBeCopied };
  struct Taken {
    DeviceSlotId id;
    Found found;
  };
  // Adds a holder to the slot with this content. If there is none, takes a free slot or else the
  // least recently held cached one; the caller then starts the copy. nullopt: every slot is held or
  // being copied to.
  std::optional<Taken> Take(const Content& content);
  // Adds a holder to the slot with this content. nullopt: there is none.
  std::optional<DeviceSlotId> Hold(const Content& content);
  // Removes a holder. True: it was the last one, and the content was forgotten.
  bool LetGo(DeviceSlotId id);
  // Call when the copy to the slot is complete.
  void Copied(DeviceSlotId id);

  bool Ready(DeviceSlotId id) const { return slots_.at(id.value()).state == State::kReady; }
  DevicePlace PlaceOf(DeviceSlotId id) const { return slots_.at(id.value()).place; }

  struct Counts {
    uint32_t slots = 0, free = 0, copying = 0, held = 0, cached = 0;
    bool operator==(const Counts&) const = default;
  };
  Counts Count() const;

 private:
  enum class State { kFree, kCopying, kReady };
  struct DeviceSlot {
    DevicePlace place;
    State state = State::kFree;
    Content content;
    uint32_t holders = 0;
    std::list<uint32_t>::iterator in_list;  // position in free_ or cached_
  };
  std::optional<uint32_t> Spare();
  void Forget(uint32_t id);

  const uint64_t slot_bytes_;
  const Unheld unheld_;
  std::unordered_map<uint32_t, DeviceSlot> slots_;
  std::list<uint32_t> free_;
  std::list<uint32_t> cached_;  // least recently held first
  absl::flat_hash_map<Content, uint32_t> by_content_;
  uint64_t reserved_ = 0;
  uint32_t next_ = 0;
};

}  // namespace penstock::exporting
