#include "tests/support/files/reference_resize.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace penstock::testing {
namespace {

struct Weights {
  int first = 0;
  std::vector<int> values;  // 2²² represents 1
};

Weights WeightsFor(uint32_t in, uint32_t out, uint32_t output) {
  const double scale = static_cast<double>(in) / out;
  const double reach = std::max(scale, 1.0);
  const double center = (output + 0.5) * scale;
  const int first = std::max(0, static_cast<int>(center - reach + 0.5));
  const int end = std::min(static_cast<int>(in), static_cast<int>(center + reach + 0.5));
  std::vector<double> shares;
  double total = 0;
  for (int i = first; i < end; ++i) {
    const double distance = std::fabs((i - center + 0.5) * (1.0 / reach));
    shares.push_back(distance < 1 ? 1 - distance : 0);
    total += shares.back();
  }
  Weights weights{first, {}};
  for (double share : shares) {
    weights.values.push_back(static_cast<int>(0.5 + share / total * 4194304.0));
  }
  return weights;
}

// The weighted sum of inputs weights.first, weights.first + 1, ….
uint8_t Sum(const Weights& weights, const std::function<uint8_t(int)>& input) {
  int64_t sum = 1 << 21;
  for (size_t i = 0; i < weights.values.size(); ++i) {
    sum += int64_t{weights.values[i]} * input(weights.first + static_cast<int>(i));
  }
  return static_cast<uint8_t>(std::clamp<int64_t>(sum >> 22, 0, 255));
}

Image Blank(uint32_t width, uint32_t height) {
  return {width, height, std::vector<uint8_t>(size_t{3} * width * height)};
}

uint8_t& At(Image& image, uint32_t x, uint32_t y, int channel) {
  return image.pixels[(size_t{y} * image.width + x) * 3 + channel];
}

uint8_t At(const Image& image, uint32_t x, uint32_t y, int channel) {
  return image.pixels[(size_t{y} * image.width + x) * 3 + channel];
}

template <typename Pixel>
Image Fill(Image image, Pixel pixel) {
  for (uint32_t y = 0; y < image.height; ++y) {
    for (uint32_t x = 0; x < image.width; ++x) {
      for (int c = 0; c < 3; ++c) At(image, x, y, c) = pixel(x, y, c);
    }
  }
  return image;
}

std::vector<Weights> AllWeights(uint32_t in, uint32_t out) {
  std::vector<Weights> weights;
  for (uint32_t i = 0; i < out; ++i) weights.push_back(WeightsFor(in, out, i));
  return weights;
}

}  // namespace

Image Crop(const Image& image, uint32_t x, uint32_t y, uint32_t width, uint32_t height) {
  return Fill(Blank(width, height),
              [&](uint32_t i, uint32_t j, int c) { return At(image, x + i, y + j, c); });
}

Image Resize(const Image& image, uint32_t width, uint32_t height) {
  const std::vector<Weights> across = AllWeights(image.width, width);
  const std::vector<Weights> down = AllWeights(image.height, height);
  const Image wide = Fill(Blank(width, image.height), [&](uint32_t x, uint32_t y, int c) {
    return Sum(across[x], [&](int i) { return At(image, i, y, c); });
  });
  return Fill(Blank(width, height), [&](uint32_t x, uint32_t y, int c) {
    return Sum(down[y], [&](int i) { return At(wide, x, i, c); });
  });
}

Image Flip(const Image& image) {
  return Fill(Blank(image.width, image.height),
              [&](uint32_t x, uint32_t y, int c) { return At(image, image.width - 1 - x, y, c); });
}

}  // namespace penstock::testing
