// The tensors of a batch: named, of any type, with one row for each sample. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "penstock/export.h"

namespace penstock {

struct Effects;  // penstock/effects.h
struct Finish;   // penstock/finish.h

// Type of a tensor's elements. All are little endian.
enum class DType : uint32_t {
  kBool = 1,  // one byte, 0 or 1
  kUInt8,
  kInt8,
  kUInt16,
  kInt16,
  kUInt32,
  kInt32,
  kUInt64,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
};

// The name that NumPy and torch use: "uint8", "bfloat16", …
PENSTOCK_EXPORT const char* DTypeName(DType type);
PENSTOCK_EXPORT size_t ElementBytes(DType type);

// What a field is if it lies in the image's plane, or belongs to what does. It then follows the
// image's geometry: crops, resizes, flips, rotations. client/python/TRANSFORMS.md has the rules.
struct Target {
  enum class Kind : uint32_t {
    kNone = 0,   // delivered as stored
    kMask,       // a PNG of the image's size; delivered as uint8, height × width
    kBoxes,      // float32, n × 4; delivered as left, top, right, bottom in pixels
    kPoints,     // float32, … × 2 (x, y) or × 3 (x, y, visibility)
    kWithBoxes,  // a value for each box, dropped with its box
  };
  enum class BoxFormat : uint32_t { kCorners = 0, kCornerAndSize, kCenterAndSize };

  Kind kind = Kind::kNone;
  BoxFormat box_format = BoxFormat::kCorners;  // as stored
  bool relative = false;  // boxes and points are stored as fractions of the image's sides
  uint32_t fill = 0;      // masks: the value outside of the image
  float min_side = 1;     // boxes: smaller ones are dropped, in pixels
  // Points: pairs of their numbers that a horizontal flip exchanges, one pair after another.
  std::vector<uint32_t> point_pairs = {};
  // Points that are stored as a list of numbers: how many belong to a point (2 or 3; 0: the field's
  // last side says it), and how many points to an item, such as a box (0: one).
  uint32_t point_numbers = 0;
  uint32_t item_points = 0;

  bool operator==(const Target&) const = default;
};

// One property that every sample of a dataset has, such as "label" or "tokens".
struct Field {
  std::string name;
  DType type = DType::kUInt8;
  // Shape of one sample, row-major; empty for a scalar. If `variable`, samples differ along the
  // first side: DatasetInfo leaves that side out, and a session's tensors have its maximum.
  std::vector<uint32_t> shape = {};
  bool variable = false;
  Target target = {};

  bool operator==(const Field&) const = default;
  size_t elements() const {  // of one sample
    size_t count = 1;
    for (const uint32_t side : shape) count *= side;
    return count;
  }
};

// A field that a session requests.
struct FieldRequest {
  std::string name;
  // For a field of variable length: the maximum number of elements along its first side. A longer
  // sample counts as a bad sample. 0 for all other fields.
  uint32_t max_length = 0;
  // Accepts a field with image coordinates (a mask, boxes) together with a random crop or flip. The
  // field does not follow the crop; without this flag such a session is refused.
  bool as_stored = false;
  // Not kNone: what the field is where the dataset does not say it, or options other than the
  // dataset's (DatasetInfo).
  Target target = {};
};

// A read-only view of one tensor of a batch, in host memory or on the batch's GPU. Row i begins at
// data + i · row_stride.
//
// **Ownership**: the batch owns the memory; the view is valid until the batch is released.
struct TensorView {
  const std::byte* data = nullptr;
  uint64_t row_stride = 0;  // bytes
  uint32_t rows = 0;
  // For a field of variable length: the number of elements of each row along its first side; the
  // rest of the row is zero. Null for all other fields.
  const int32_t* lengths = nullptr;
};

// Where a finish writes one tensor of a batch: rows × elements of `type`, without gaps.
//
// `type` is the field's own type; or kInt32 or kInt64 for integers that always fit; or kFloat32 for
// any float. The memory follows the rules of Into.
struct TensorInto {
  uint32_t tensor = 0;  // index into Session::tensors()
  DType type = DType::kUInt8;
  void* data = nullptr;
  size_t bytes = 0;            // size of `data`; NextInto needs room for a full batch
  int32_t* lengths = nullptr;  // one for each row; null: not wanted
  // For a further image (SessionOptions::more_images): finishes it as Into::images is, with effects
  // of its own if it has any; no mix and no soft labels. `type` is then not used.
  const Finish* finish = nullptr;
  const Effects* effects = nullptr;
};

}  // namespace penstock
