#include "server/pool/slot_layout.h"

#include "common/base/check.h"

namespace penstock::pool {
namespace {

constexpr uint64_t kCacheLine = 64;
// Sparse slots begin where a huge page may begin.
constexpr uint64_t kHugePage = 2 * base::kMiB;

uint64_t RoundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

}  // namespace

SlotLayout LayOut(const std::vector<uint64_t>& row_bytes, uint32_t rows) {
  SlotLayout layout;
  for (const uint64_t bytes : row_bytes) {
    layout.blocks.push_back({.offset = layout.labels_offset, .row_bytes = bytes});
    layout.labels_offset = RoundUp(layout.labels_offset + bytes * rows, kCacheLine);
  }
  layout.ids_offset = RoundUp(layout.labels_offset + rows * sizeof(int64_t), kCacheLine);
  layout.slot_bytes = RoundUp(layout.ids_offset + rows * sizeof(uint64_t), kPage);
  return layout;
}

SlotLayout LayOutMade(uint32_t rows, uint64_t most) {
  PENSTOCK_CHECK(rows > 0 && most > 0 && most <= kMostMadeBytes);
  SlotLayout layout = LayOut({}, rows);
  layout.made_offset = layout.slot_bytes;
  layout.slot_bytes = RoundUp(layout.made_offset + most, kHugePage);
  return layout;
}

}  // namespace penstock::pool
