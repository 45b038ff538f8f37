// The finish: the last step of a batch. It turns the stored uint8 rows into the type and layout
// that the consumer computes with. Plain values.
#pragma once

#include <cstdint>

namespace penstock {

enum class Type { kUInt8, kFloat32, kFloat16, kBFloat16 };
enum class Layout { kNHWC, kNCHW };

// The wanted form of the stored uint8 NHWC rows.
//
// kUInt8 keeps the values 0 to 255. Floats are ((value / 255) − mean) / stddev for each channel,
// computed in float32 with every operation rounded to nearest even, as torchvision's ToTensor and
// Normalize do on a CPU. Half types are that result, rounded to nearest even. So every machine
// gives the same bits.
//
// Batches without an image of bytes refuse a mean or a standard deviation: stored floats come
// unchanged.
struct Finish {
  Type type = Type::kFloat32;
  Layout layout = Layout::kNCHW;
  float mean[3] = {0, 0, 0};    // of values in [0, 1]
  float stddev[3] = {1, 1, 1};  // not 0
};

// The size of a batch's images, in rows, pixels and channels.
struct Shape {
  uint32_t rows = 0, height = 0, width = 0, channels = 0;
};

}  // namespace penstock
