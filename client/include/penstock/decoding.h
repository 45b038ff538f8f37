// How the daemon turns encoded images into the rows of a batch. Plain values.
#pragma once

#include <cstdint>

namespace penstock {

// Cuts a random box out of the image and resizes it to height × width. The defaults and the
// distribution are torchvision's.
struct RandomResizedCrop {
  uint32_t height = 224, width = 224;                   // pixels, 1 to 16384
  double scale_min = 0.08, scale_max = 1.0;             // share of the image's area, above 0
  double ratio_min = 3.0 / 4.0, ratio_max = 4.0 / 3.0;  // width / height of the box, above 0
};

// Resizes the shorter side to `resize`, then cuts out the middle height × width.
struct ResizeCenterCrop {
  uint32_t resize = 256;               // pixels, 1 to 16384
  uint32_t height = 224, width = 224;  // pixels, at most `resize`
};

// Channels of an image's rows: kRgb has three, kGray has one, the luma of Pillow's convert("L").
enum class Color { kRgb, kGray };

}  // namespace penstock
