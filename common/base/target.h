// Targets: what a sample has besides its image that lies in the image's plane and follows the
// image's geometry, or belongs to what does. Plain values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace penstock::base {

// The numbers are those of the protocol, and part of a feed's fingerprint.
enum class TargetKind : uint32_t {
  kNone = 0,       // delivered as stored
  kMask = 1,       // a PNG of the image's size; delivered as height × width bytes
  kBoxes = 2,      // float32, one row of 4 numbers for each box
  kPoints = 3,     // float32, … × 2 (x, y) or × 3 (x, y, visibility)
  kWithBoxes = 4,  // a value for each box, of any type: it leaves with its box
};

// How boxes are stored. They are delivered as kCorners, in pixels.
enum class BoxFormat : uint32_t {
  kCorners = 0,        // left, top, right, bottom
  kCornerAndSize = 1,  // left, top, width, height
  kCenterAndSize = 2,  // x and y of the center, width, height
};

inline constexpr uint32_t kMostTargets = 32;  // of an image
inline constexpr uint32_t kMostPointPairs = 32;

// What a target is. Fixed width without padding, because it travels through shared memory.
struct TargetSpec {
  TargetKind kind = TargetKind::kNone;
  BoxFormat format = BoxFormat::kCorners;
  // kBoxes, kPoints: 1: what is stored are fractions of the image's sides, 0: pixels.
  uint32_t relative = 0;
  // kMask: the value of what is outside of the image, 0 … 255.
  uint32_t fill = 0;
  // kBoxes: narrower or lower ones are dropped, in pixels.
  float min_side = 1;
  // kPoints, stored as a list of numbers: how many belong to a point, 2 or 3, and how many points
  // to an item, such as a box; 0: the field's shape says it, or an item is a point.
  uint32_t numbers = 0;
  uint32_t item_points = 0;
  // kPoints: pairs of points, by their numbers, that a flip to the other side exchanges, such as
  // the left eye and the right one.
  uint32_t pairs = 0;
  uint8_t pair[2 * kMostPointPairs] = {};

  bool operator==(const TargetSpec& other) const {
    return kind == other.kind && format == other.format && relative == other.relative &&
           fill == other.fill && min_side == other.min_side && numbers == other.numbers &&
           item_points == other.item_points && pairs == other.pairs &&
           std::equal(pair, pair + 2 * kMostPointPairs, other.pair);
  }
};
static_assert(sizeof(TargetSpec) == 96 && std::is_trivially_copyable_v<TargetSpec>);

}  // namespace penstock::base
