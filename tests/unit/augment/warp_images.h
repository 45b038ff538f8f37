// Small images for the tests of geometric operations.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "server/augment/image.h"

namespace penstock::augment {

using Bytes = std::vector<uint8_t>;

struct TestImage {
  TestImage(uint32_t w, uint32_t h, uint32_t c, Bytes bytes)
      : width(w), height(h), channels(c), pixels(std::move(bytes)) {}
  TestImage(uint32_t w, uint32_t h, uint32_t c) : TestImage(w, h, c, Bytes(size_t{w} * h * c)) {}

  // NOLINTNEXTLINE: every image can be viewed
  operator ImageView() { return {pixels.data(), width, height, channels}; }
  operator ConstImageView() const { return {pixels.data(), width, height, channels}; }

  uint32_t width, height, channels;
  Bytes pixels;
};

inline TestImage Gray(uint32_t width, Bytes pixels) {
  const auto height = static_cast<uint32_t>(pixels.size() / width);
  return {width, height, 1, std::move(pixels)};
}

inline TestImage Noise(uint32_t width, uint32_t height, uint32_t channels) {
  std::mt19937 engine(width * 31 + height * 7 + channels);
  TestImage image(width, height, channels);
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(engine());
  return image;
}

}  // namespace penstock::augment
