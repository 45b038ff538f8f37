// Where the parts of a batch are in a slot. Plain values; any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock::pool {

// Storage for all rows of a batch, one after another; holds one or more of its tensors.
struct Block {
  uint64_t offset = 0;  // from the slot's start
  uint64_t row_bytes = 0;
  bool operator==(const Block&) const = default;
};

// The parts of a slot, in bytes from its start.
struct SlotLayout {
  std::vector<Block> blocks = {};  // the first is at 0
  uint64_t labels_offset = 0;      // of the int64 labels
  uint64_t ids_offset = 0;         // of the uint64 ids
  uint64_t slot_bytes = 0;         // whole pages
  bool operator==(const SlotLayout&) const = default;
};

// `row_bytes`: one entry for each block.
SlotLayout LayOut(const std::vector<uint64_t>& row_bytes, uint32_t rows);

}  // namespace penstock::pool
