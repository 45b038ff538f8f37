// The random box of torchvision's RandomResizedCrop, as ../../plan/README.md specifies it. Pure.
#pragma once

#include <cstdint>

#include "common/base/beta.h"
#include "server/augment/warp/matrix.h"

namespace penstock::augment {

struct PixelBox {
  uint32_t x = 0, y = 0, width = 0, height = 0;
};

// Fractions of the image's area, and aspect ratios, width / height. **Requires**: 0 < min ≤ max.
struct BoxRanges {
  double scale_min, scale_max;
  double ratio_min, ratio_max;
};

// Takes draws first … first + 9.
PixelBox RandomBox(const BoxRanges& ranges, ImageSize size, const base::DrawSource& source,
                   uint32_t first);

}  // namespace penstock::augment
