// Pillow's crop, resize (antialiased, except to the nearest pixel) and flip, written for
// readability: computes every pixel of the whole result from its definition, and shares nothing
// with server/decode.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/interpolation.h"
#include "tests/support/files/jpeg_maker.h"

namespace penstock::testing {

Image Crop(const Image& image, uint32_t x, uint32_t y, uint32_t width, uint32_t height);
Image Resize(const Image& image, uint32_t width, uint32_t height,
             base::Interpolation interpolation = base::Interpolation::kBilinear);
Image Flip(const Image& image);

}  // namespace penstock::testing
