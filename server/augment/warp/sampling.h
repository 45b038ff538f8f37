// How a geometric operation reads between pixels, and what it writes outside of the image.
#pragma once

#include <cstdint>

#include "common/base/interpolation.h"

namespace penstock::augment {

using Sampling = base::Interpolation;

// Transforms take all but Lanczos, as in Pillow.
constexpr bool CanSample(Sampling sampling) {
  return sampling == Sampling::kNearest || sampling == Sampling::kBilinear ||
         sampling == Sampling::kBicubic;
}

// The value of each channel; gray images use the first.
struct Fill {
  uint8_t values[3] = {0, 0, 0};

  bool operator==(const Fill&) const = default;
};

struct Sampler {
  Sampling sampling = Sampling::kNearest;
  Fill fill;
};

}  // namespace penstock::augment
