// Where the parts of a batch are in a slot. Plain values; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/units.h"

namespace penstock::pool {

inline constexpr uint64_t kPage = 4096;
// The largest made batch that a sparse slot has addresses for.
inline constexpr uint64_t kMostMadeBytes = 16 * base::kGiB;

// Storage for all rows of a batch, one after another; holds one or more of its tensors.
struct Block {
  uint64_t offset = 0;  // from the slot's start
  uint64_t row_bytes = 0;
  bool operator==(const Block&) const = default;
};

// The parts of a slot, in bytes from its start.
//
// A slot is dense or sparse. A dense slot has memory for all of its bytes from the start. A sparse
// one is for a batch whose size nobody knows in advance: it has addresses for the largest, and
// memory only for the labels and ids and for the bytes that Pool::Grant has granted.
struct SlotLayout {
  std::vector<Block> blocks = {};  // the first is at 0
  uint64_t labels_offset = 0;      // of the int64 labels
  uint64_t ids_offset = 0;         // of the uint64 ids
  uint64_t slot_bytes = 0;         // whole pages
  uint64_t made_offset = 0;        // sparse: of the made batch, on a page; 0: the slot is dense
  bool operator==(const SlotLayout&) const = default;

  bool sparse() const { return made_offset > 0; }
  // How much of the slot, from its start, has memory as long as the slot exists.
  uint64_t promised_bytes() const { return sparse() ? made_offset : slot_bytes; }
  // The largest made batch that fits into the slot.
  uint64_t most_made_bytes() const { return sparse() ? slot_bytes - made_offset : 0; }
};

// `row_bytes`: one entry for each block.
SlotLayout LayOut(const std::vector<uint64_t>& row_bytes, uint32_t rows);

// A sparse slot: labels and ids of `rows` rows, then a made batch of at most `most` bytes.
// **Requires**: `most` is at least 1 and at most kMostMadeBytes.
SlotLayout LayOutMade(uint32_t rows, uint64_t most);

}  // namespace penstock::pool
