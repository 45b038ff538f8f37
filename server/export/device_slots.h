// Which batches are on a GPU, and where: the device slots of one user, one GPU and one size, cut
// from slabs. Pure: no CUDA, no thread, no clock; one owner (the runner's thread) calls it.
//
// What always holds:
//  - A device slot is free, being copied to, or ready. Ready and held by nobody it is a cache,
//  least
//    recently held first out.
//  - Equal content is on the GPU once: who wants what is there, or is coming, holds the same slot.
//  - Content is kept only if somebody held it when its copy completed: until then a holder's lease
//    keeps the pool from filling the host slot anew, and without one the bytes could be anything.
//  - A slot is copied to only when nobody holds it.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>

#include "absl/container/flat_hash_map.h"
#include "common/base/strong_id.h"

namespace penstock::exporting {

using DeviceSlotId = base::StrongId<struct DeviceSlotTag, uint32_t>;

// A slot of the pool under one generation: equal content means equal bytes.
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
  // kForget: content that nobody holds is forgotten at once, for tests that look for early reuse.
  enum class Unheld { kCache, kForget };
  explicit DeviceSlots(uint64_t slot_bytes, Unheld unheld = Unheld::kCache)
      : slot_bytes_(slot_bytes), unheld_(unheld) {}

  uint64_t slot_bytes() const { return slot_bytes_; }

  // A slab, of which `bytes` are for slots.
  void AddSlab(uint32_t slab, uint64_t bytes);
  // The slab can go: none of its slots is held or copied to, and the rest suffices for what is
  // reserved. What it cached is forgotten.
  bool CanSpare(uint32_t slab) const;
  void RemoveSlab(uint32_t slab);  // one that can be spared

  // Sessions reserve what they hold at most, so that none waits for another's slots. A session may
  // reserve ahead of the slab that it waits for.
  void Reserve(uint32_t depth) { reserved_ += depth; }
  void Unreserve(uint32_t depth);
  uint64_t reserved() const { return reserved_; }
  uint64_t size() const { return slots_.size(); }

  enum class Found { kReady, kComing, kMustBeCopied };
  struct Taken {
    DeviceSlotId id;
    Found found;
  };
  // One holder more on the slot with this content; where there is none, on a free one, or else the
  // cached one that nobody has held for longest: the caller then starts the copy. Nothing: every
  // slot is held or still copied to.
  std::optional<Taken> Take(const Content& content);
  // One holder less. True: nobody holds it any more, and its content was forgotten.
  bool LetGo(DeviceSlotId id);
  // The copy to it is complete.
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
  struct Slot {
    DevicePlace place;
    State state = State::kFree;
    Content content;
    uint32_t holders = 0;
    std::list<uint32_t>::iterator in_list;  // among the free or the cached
  };
  std::optional<uint32_t> Spare();
  void Forget(uint32_t id);

  const uint64_t slot_bytes_;
  const Unheld unheld_;
  std::unordered_map<uint32_t, Slot> slots_;
  std::list<uint32_t> free_;
  std::list<uint32_t> cached_;  // least recently held first
  absl::flat_hash_map<Content, uint32_t> by_content_;
  uint64_t reserved_ = 0;
  uint32_t next_ = 0;
};

}  // namespace penstock::exporting
