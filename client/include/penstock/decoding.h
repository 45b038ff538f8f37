// What the daemon makes of images before they are in a batch.
#pragma once

#include <cstdint>

namespace penstock {

// A random box of the image, resized; with torchvision's defaults.
struct RandomResizedCrop {
  uint32_t height = 224, width = 224;
  double scale_min = 0.08, scale_max = 1.0;
  double ratio_min = 3.0 / 4.0, ratio_max = 4.0 / 3.0;
};

// The shorter side resized to `resize`, then the middle height × width.
struct ResizeCenterCrop {
  uint32_t resize = 256;
  uint32_t height = 224, width = 224;
};

// What the rows of images hold: three channels, or one of luma, as Pillow's convert("L") has it.
enum class Color { kRgb, kGray };

}  // namespace penstock
