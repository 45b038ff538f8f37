// The finish: the last step of a batch, from the stored uint8 rows to what the consumer computes
// with.
#pragma once

#include <cstdint>

namespace penstock {

enum class Type { kUInt8, kFloat32, kFloat16, kBFloat16 };
enum class Layout { kNHWC, kNCHW };

// What the consumer wants of the stored uint8 NHWC rows. uint8 stays as it is. Floats are computed
// in float32 with each operation rounded to nearest even, as torchvision's ToTensor and Normalize
// do on a CPU: ((value / 255) − mean) / stddev, per channel; half types are that result, rounded to
// nearest even. So every machine gives the same bits. A mean or a standard deviation for batches
// without such an image is refused: floats that were stored come as they are.
struct Finish {
  Type type = Type::kFloat32;
  Layout layout = Layout::kNCHW;
  float mean[3] = {0, 0, 0};
  float stddev[3] = {1, 1, 1};  // not 0
};

struct Shape {
  uint32_t rows = 0, height = 0, width = 0, channels = 0;
};

}  // namespace penstock
