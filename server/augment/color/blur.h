// A Gaussian blur whose bytes equal those of torchvision's gaussian_blur on Pillow's images
// (torchvision 0.14 with torch 1.13, Debian 12, on a CPU with AVX2 and fused multiply-add). Pure.
//
// README.md defines the result, and says where other versions differ.
#pragma once

#include "server/augment/color/gaussian.h"
#include "server/augment/image.h"
#include "server/augment/scratch.h"

namespace penstock::augment {

// The kernel's size in pixels and its standard deviation, along each axis.
struct Blur {
  int size_x, size_y;  // odd, 1 … kMaxBlurSize
  double sigma_x, sigma_y;
};

// Whether an image is large enough: the border is a reflection, so at most one pixel less than the
// image's. Torchvision raises an exception for smaller images.
inline bool Fits(const Blur& blur, const ConstImageView& image) {
  return static_cast<uint32_t>(blur.size_x / 2) < image.width &&
         static_cast<uint32_t>(blur.size_y / 2) < image.height;
}

// Works in place. **Requires**: Fits(blur, image); both sizes are odd and at most kMaxBlurSize;
// both sigmas are positive, also after rounding to float. Throws std::bad_alloc.
void GaussianBlur(const ImageView& image, const Blur& blur, Scratch& scratch);

}  // namespace penstock::augment
