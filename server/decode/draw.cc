// The random draw that ../plan/README.md specifies. It uses only additions, products, quotients and
// square roots of doubles, in the specified order: IEEE 754 rounds each of them in exactly one way,
// so every machine and language gets the same result. It avoids exp and log, whose last bit differs
// between libraries, and the file is compiled without fused multiply-add.
#include <algorithm>
#include <cmath>

#include "common/base/philox.h"
#include "server/decode/core/spec.h"

namespace penstock::decode {
namespace {

constexpr uint32_t kAttempts = 10;  // operations 0 … 9: one crop attempt each
constexpr uint32_t kFlipOperation = 10;

base::PhiloxWords WordsFor(const DrawKey& key, uint32_t operation) {
  return base::Philox4x32(
      {static_cast<uint32_t>(key.sample), static_cast<uint32_t>(key.sample >> 32),
       static_cast<uint32_t>(key.epoch), operation},
      key.seed);
}

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

bool TryCrop(const Spec& spec, const base::PhiloxWords& words, uint32_t width, uint32_t height,
             Box* crop) {
  const double pixels = static_cast<double>(uint64_t{width} * height);
  const double area =
      pixels * (spec.scale_min + (spec.scale_max - spec.scale_min) * Unit(words[0]));
  const double aspect = spec.ratio_min * Power(spec.ratio_max / spec.ratio_min, words[1]);
  const double w = Round(std::sqrt(area * aspect));
  const double h = Round(std::sqrt(area / aspect));
  if (!(w > 0 && w <= width && h > 0 && h <= height)) return false;
  crop->width = static_cast<uint32_t>(w);
  crop->height = static_cast<uint32_t>(h);
  crop->y = Below(words[2], height - crop->height + 1);
  crop->x = Below(words[3], width - crop->width + 1);
  return true;
}

// The largest centred box with an allowed ratio.
Box CentralCrop(const Spec& spec, uint32_t width, uint32_t height) {
  const double w = std::min<double>(width, std::max(1.0, Round(height * spec.ratio_max)));
  const double h = std::min<double>(height, std::max(1.0, Round(width / spec.ratio_min)));
  Box crop;
  crop.width = static_cast<uint32_t>(w);
  crop.height = static_cast<uint32_t>(h);
  crop.x = (width - crop.width) / 2;
  crop.y = (height - crop.height) / 2;
  return crop;
}

Box RandomCrop(const Spec& spec, const DrawKey& key, uint32_t width, uint32_t height) {
  Box crop;
  for (uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    if (TryCrop(spec, WordsFor(key, attempt), width, height, &crop)) return crop;
  }
  return CentralCrop(spec, width, height);
}

}  // namespace

Draw DrawFor(const Spec& spec, const DrawKey& key, uint32_t image_width, uint32_t image_height) {
  Draw draw;
  draw.crop = spec.geometry == Geometry::kRandomResizedCrop
                  ? RandomCrop(spec, key, image_width, image_height)
                  : Box{0, 0, image_width, image_height};
  draw.flip = Unit(WordsFor(key, kFlipOperation)[0]) < spec.flip_probability;
  return draw;
}

}  // namespace penstock::decode
