// A pool segment with batches in it, for tests of deliveries. Each slot's images, labels and ids
// identify the slot and row.
#pragma once

#include <cstring>

#include "common/posix/memory.h"
#include "server/export/delivery.h"

namespace penstock::exporting {

class PoolSegment {
 public:
  static constexpr uint32_t kRows = 4;
  static constexpr uint64_t kRowBytes = 100, kLabels = 448, kIds = 512, kSlotBytes = 4096;

  explicit PoolSegment(uint32_t slots)
      : memory_(*posix::MakeMemory("segment", slots * kSlotBytes)),
        mapping_(*posix::Mapping::Map(memory_, slots * kSlotBytes, posix::Access::kReadWrite)) {
    for (uint32_t slot = 0; slot < slots; ++slot) Fill(slot, 1);
  }

  // Puts another batch into the slot.
  void Fill(uint32_t slot, uint64_t generation) {
    std::byte* data = mapping_.data() + slot * kSlotBytes;
    for (uint32_t row = 0; row < kRows; ++row) {
      std::memset(data + row * kRowBytes, static_cast<int>(Image(slot, generation, row)),
                  kRowBytes);
      const int64_t label = Label(slot, row);
      const uint64_t id = Id(slot, generation, row);
      std::memcpy(data + kLabels + row * sizeof(label), &label, sizeof(label));
      std::memcpy(data + kIds + row * sizeof(id), &id, sizeof(id));
    }
  }
  static uint8_t Image(uint32_t slot, uint64_t generation, uint32_t row) {
    return static_cast<uint8_t>(slot * 16 + generation * 5 + row);
  }
  static int64_t Label(uint32_t slot, uint32_t row) { return slot * 100 + row; }
  static uint64_t Id(uint32_t slot, uint64_t generation, uint32_t row) {
    return generation * 10'000 + slot * 100 + row;
  }

  FullSlot Slot(uint32_t slot, uint64_t generation = 1) const {
    return {.slot = slot,
            .generation = generation,
            .segment = kId,
            .offset = slot * kSlotBytes,
            .data = mapping_.data() + slot * kSlotBytes,
            .labels_offset = kLabels,
            .ids_offset = kIds,
            .slot_bytes = kSlotBytes,
            .memory = &memory_,
            .memory_bytes = mapping_.size()};
  }
  // The core's announcement of the batch.
  static shm::ControlEntry Entry(uint64_t sequence, uint32_t slot, uint64_t generation = 1) {
    shm::ControlEntry entry = {};
    entry.sequence = sequence;
    entry.generation = generation;
    entry.segment = kId;
    entry.rows = kRows;
    entry.valid_rows = kRows;
    entry.offset = slot * kSlotBytes;
    entry.epoch = 3;
    entry.first = sequence * kRows;
    entry.step = sequence - 1;
    entry.consumed = (sequence + 1) * kRows;
    return entry;
  }
  const std::byte* data() const { return mapping_.data(); }

  static constexpr uint32_t kId = 11;

 private:
  posix::Fd memory_;
  posix::Mapping mapping_;
};

}  // namespace penstock::exporting
