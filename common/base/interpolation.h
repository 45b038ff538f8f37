// How to compute an image's value between its pixels.
#pragma once

#include <cstdint>

namespace penstock::base {

// The numbers are Pillow's.
enum class Interpolation : uint32_t {
  kNearest = 0,
  kLanczos = 1,  // over three pixels on either side
  kBilinear = 2,
  kBicubic = 3,  // a = -0.5
};

inline constexpr int kInterpolations = 4;

}  // namespace penstock::base
