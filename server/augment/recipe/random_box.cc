// Uses only additions, products, quotients and square roots of doubles, in the specified order:
// IEEE 754 rounds each of them in exactly one way, so every machine and language gets the same
// result. It avoids exp and log, whose last bit differs between libraries, and the file is compiled
// without fused multiply-add.
#include "server/augment/recipe/random_box.h"

#include <algorithm>
#include <cmath>

namespace penstock::augment {
namespace {

constexpr uint32_t kAttempts = 10;

// A number in [0, 1).
double Unit(uint32_t word) { return word / 4294967296.0; }

// An integer in [0, choices).
uint32_t Below(uint32_t word, uint32_t choices) {
  return static_cast<uint32_t>((uint64_t{word} * choices) >> 32);
}

// Computes base^(word / 2³²) as the product of base^(1/2), base^(1/4), … for the bits set in
// `word`.
double Power(double base, uint32_t word) {
  double power = 1.0;
  for (int bit = 31; bit >= 0; --bit) {
    base = std::sqrt(base);
    if ((word >> bit) & 1) power *= base;
  }
  return power;
}

// Rounds half to even, like Python's round.
double Round(double value) { return std::nearbyint(value); }

bool TryBox(const BoxRanges& ranges, const base::PhiloxWords& words, ImageSize size,
            PixelBox* box) {
  const auto [width, height] = size;
  const double pixels = static_cast<double>(uint64_t{width} * height);
  const double area =
      pixels * (ranges.scale_min + (ranges.scale_max - ranges.scale_min) * Unit(words[0]));
  const double aspect = ranges.ratio_min * Power(ranges.ratio_max / ranges.ratio_min, words[1]);
  const double w = Round(std::sqrt(area * aspect));
  const double h = Round(std::sqrt(area / aspect));
  if (!(w > 0 && w <= width && h > 0 && h <= height)) return false;
  box->width = static_cast<uint32_t>(w);
  box->height = static_cast<uint32_t>(h);
  box->y = Below(words[2], height - box->height + 1);
  box->x = Below(words[3], width - box->width + 1);
  return true;
}

// The largest centred box with an allowed ratio.
PixelBox CentralBox(const BoxRanges& ranges, ImageSize size) {
  const auto [width, height] = size;
  const double w = std::min<double>(width, std::max(1.0, Round(height * ranges.ratio_max)));
  const double h = std::min<double>(height, std::max(1.0, Round(width / ranges.ratio_min)));
  PixelBox box;
  box.width = static_cast<uint32_t>(w);
  box.height = static_cast<uint32_t>(h);
  box.x = (width - box.width) / 2;
  box.y = (height - box.height) / 2;
  return box;
}

}  // namespace

PixelBox RandomBox(const BoxRanges& ranges, ImageSize size, const base::DrawSource& source,
                   uint32_t first) {
  PixelBox box;
  for (uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    if (TryBox(ranges, source.Words(first + attempt), size, &box)) return box;
  }
  return CentralBox(ranges, size);
}

}  // namespace penstock::augment
