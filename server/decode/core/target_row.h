// The row of one target of an image: of a mask, boxes, points, or values that belong to boxes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/target.h"

namespace penstock::decode {

// One target of an image, and its row. The rows of boxes, points and values hold them as they are
// stored; those that leave the image's row are removed, and zeros follow the rest.
struct TargetRow {
  base::TargetSpec spec;
  std::span<std::byte> row;
  // The number of items in the row, an int32: of boxes, groups of points, or values. Empty: the row
  // is full of items, and none is removed.
  std::span<std::byte> count = {};
  uint32_t item_bytes = 0;               // but for masks
  uint32_t numbers = 2;                  // of a point: 2, or 3 with its visibility
  std::span<const std::byte> file = {};  // of a mask
};

}  // namespace penstock::decode
