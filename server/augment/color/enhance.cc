#include "server/augment/color/enhance.h"

#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>

#include "server/augment/color/kernels.h"

namespace penstock::augment {
namespace {

uint64_t SumOfLuma(const ConstImageView& image) {
  if (image.channels == 3) return BestColorKernels().sum_luma(image.data, image.pixels());
  return std::accumulate(image.data, image.data + image.bytes(), uint64_t{0});
}

}  // namespace

void Brightness(const ImageView& image, double factor) {
  BestColorKernels().blend(image.data, image.bytes(), 0, static_cast<float>(factor));
}

void Contrast(const ImageView& image, double factor) {
  const double mean = static_cast<double>(SumOfLuma(image)) / static_cast<double>(image.pixels());
  BestColorKernels().blend(image.data, image.bytes(), static_cast<uint8_t>(mean + 0.5),
                           static_cast<float>(factor));
}

void Saturation(const ImageView& image, double factor) {
  if (image.channels == 1) return;
  BestColorKernels().saturate(image.data, image.pixels(), static_cast<float>(factor));
}

void Sharpness(const ImageView& image, double factor, Scratch& scratch) {
  if (image.width < 3 || image.height < 3) return;
  const size_t bytes = image.row_bytes();
  // The original row and the one above it, which are overwritten.
  uint8_t* above = scratch.Reserve(2 * bytes);
  uint8_t* row = above + bytes;
  std::memcpy(above, image.row(0), bytes);
  for (uint32_t y = 1; y + 1 < image.height; ++y) {
    std::memcpy(row, image.row(y), bytes);
    BestColorKernels().sharpen({above, row, image.row(y + 1), image.row(y), bytes, image.channels,
                                static_cast<float>(factor)});
    std::swap(above, row);
  }
}

void Hue(const ImageView& image, double factor) {
  if (image.channels == 1) return;
  const uint8_t shift = static_cast<uint8_t>(static_cast<int>(factor * 255));
  BestColorKernels().shift_hue(image.data, image.pixels(), shift);
}

void Grayscale(const ImageView& image) {
  if (image.channels == 1) return;
  BestColorKernels().make_gray(image.data, image.pixels());
}

}  // namespace penstock::augment
