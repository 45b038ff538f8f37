#include "tests/support/files/reference_resize.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace penstock::testing {
namespace {

using base::Interpolation;

struct Weights {
  int first = 0;
  std::vector<int> values;  // 2²² represents 1
};

double Sinc(double x) { return x == 0 ? 1.0 : std::sin(x * M_PI) / (x * M_PI); }

// The filter's value at a distance ≥ 0.
double Share(Interpolation interpolation, double x) {
  switch (interpolation) {
    case Interpolation::kLanczos:
      return x < 3 ? Sinc(x) * Sinc(x / 3) : 0;
    case Interpolation::kBicubic:
      if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
      return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
    default:
      return x < 1 ? 1 - x : 0;
  }
}

double Reach(Interpolation interpolation) {
  if (interpolation == Interpolation::kLanczos) return 3;
  return interpolation == Interpolation::kBicubic ? 2 : 1;
}

int ToFixedPoint(double share) {
  return static_cast<int>(share * 4194304.0 + std::copysign(0.5, share));
}

Weights NearestTo(uint32_t in, uint32_t out, uint32_t output) {
  const double scale = static_cast<double>(in) / out;
  double position = scale * 0.5;
  for (uint32_t i = 0; i < output; ++i) position += scale;
  return {static_cast<int>(position), {1 << 22}};
}

Weights WeightsFor(uint32_t in, uint32_t out, uint32_t output, Interpolation interpolation) {
  if (interpolation == Interpolation::kNearest) return NearestTo(in, out, output);
  const double scale = static_cast<double>(in) / out;
  const double stretch = std::max(scale, 1.0);
  const double reach = Reach(interpolation) * stretch;
  const double center = (output + 0.5) * scale;
  const int first = std::max(0, static_cast<int>(center - reach + 0.5));
  const int end = std::min(static_cast<int>(in), static_cast<int>(center + reach + 0.5));
  std::vector<double> shares;
  double total = 0;
  for (int i = first; i < end; ++i) {
    shares.push_back(Share(interpolation, std::fabs((i - center + 0.5) * (1.0 / stretch))));
    total += shares.back();
  }
  Weights weights{first, {}};
  for (double share : shares) weights.values.push_back(ToFixedPoint(share / total));
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

std::vector<Weights> AllWeights(uint32_t in, uint32_t out, Interpolation interpolation) {
  std::vector<Weights> weights;
  for (uint32_t i = 0; i < out; ++i) weights.push_back(WeightsFor(in, out, i, interpolation));
  return weights;
}

}  // namespace

Image Crop(const Image& image, uint32_t x, uint32_t y, uint32_t width, uint32_t height) {
  return Fill(Blank(width, height),
              [&](uint32_t i, uint32_t j, int c) { return At(image, x + i, y + j, c); });
}

Image Resize(const Image& image, uint32_t width, uint32_t height, Interpolation interpolation) {
  const std::vector<Weights> across = AllWeights(image.width, width, interpolation);
  const std::vector<Weights> down = AllWeights(image.height, height, interpolation);
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
