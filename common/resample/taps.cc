// The operations on doubles and their order are those of Pillow's precompute_coeffs and
// normalize_coeffs_8bpc (src/libImaging/Resample.c), and of ImagingScaleAffine (Geometry.c), with
// which Pillow resizes to the nearest pixel. Rounding differently in one place changes one
// pixel in a thousand by one. This file is compiled without fused multiply-add.
#include "common/resample/taps.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/resample/sine.h"

namespace penstock::resample {
namespace {

// A filter's weight for an input at distance x from the output, and the distance beyond which it is
// zero.
struct Triangle {
  static constexpr double kSupport = 1.0;
  static constexpr bool kNegative = false;  // anywhere
  static double At(double x) {
    x = std::abs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
  }
};

struct Cubic {
  static constexpr double kSupport = 2.0;
  static constexpr bool kNegative = true;
  static double At(double x) {
    constexpr double kA = -0.5;
    x = std::abs(x);
    if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * kA;
    return 0.0;
  }
};

double Sinc(double x) {
  if (x == 0.0) return 1.0;
  x = x * std::numbers::pi;
  return Sine(x) / x;
}

struct Lanczos {
  static constexpr double kSupport = 3.0;
  static constexpr bool kNegative = true;
  static double At(double x) {
    x = std::abs(x);  // sin(x) / x has the same bits for -x
    return x < 3.0 ? Sinc(x) * Sinc(x / 3) : 0.0;
  }
};

// Rounds half away from zero.
template <bool kNegative>
int32_t ToFixedPoint(double weight) {
  const double scaled = weight * (1 << kWeightBits);
  return static_cast<int32_t>(kNegative && weight < 0 ? -0.5 + scaled : 0.5 + scaled);
}

// Drops zero weights at both ends, but keeps at least one weight.
TapRange Trim(TapRange range, int32_t* weights) {
  while (range.count > 1 && weights[range.count - 1] == 0) --range.count;
  uint32_t zeros = 0;
  while (zeros + 1 < range.count && weights[zeros] == 0) ++zeros;
  if (zeros > 0) std::copy(weights + zeros, weights + range.count, weights);
  return {range.first + zeros, range.count - zeros};
}

}  // namespace

void Taps::Compute(const Axis& axis, base::Interpolation interpolation) {
  inputs_.resize(axis.count);
  switch (interpolation) {
    case base::Interpolation::kNearest:
      ComputeNearest(axis);
      break;
    case base::Interpolation::kLanczos:
      ComputeAll<Lanczos>(axis);
      break;
    case base::Interpolation::kBilinear:
      ComputeAll<Triangle>(axis);
      break;
    case base::Interpolation::kBicubic:
      ComputeAll<Cubic>(axis);
      break;
  }
  Summarize();
}

// Pillow adds up the positions, and so do we.
void Taps::ComputeNearest(const Axis& axis) {
  const double scale = static_cast<double>(axis.in) / axis.out;
  double at = scale * 0.5;
  for (uint32_t i = 0; i < axis.first; ++i) at += scale;
  for (TapRange& range : inputs_) {
    range = {std::min(static_cast<uint32_t>(at), axis.in - 1), 1};
    at += scale;
  }
  stride_ = 1;
  weights_.assign(axis.count, 1 << kWeightBits);
}

template <typename Filter>
void Taps::ComputeAll(const Axis& axis) {
  const double scale = static_cast<double>(axis.in) / axis.out;
  const double support = Filter::kSupport * std::max(scale, 1.0);
  stride_ = std::min(static_cast<uint32_t>(std::ceil(support)) * 2 + 1, axis.in);
  weights_.resize(size_t{axis.count} * stride_);
  scratch_.resize(stride_);
  for (uint32_t i = 0; i < axis.count; ++i) {
    inputs_[i] = ComputeOne<Filter>(axis, axis.first + i, scale, &weights_[size_t{i} * stride_]);
  }
}

template <typename Filter>
TapRange Taps::ComputeOne(const Axis& axis, uint32_t output, double scale, int32_t* weights) {
  const double stretch = std::max(scale, 1.0);
  const double support = Filter::kSupport * stretch;
  const double inverse = 1.0 / stretch;
  const double center = (output + 0.5) * scale;
  const int first = std::max(static_cast<int>(center - support + 0.5), 0);
  const int last = std::min(static_cast<int>(center + support + 0.5), static_cast<int>(axis.in));
  const int count = last - first;
  double sum = 0.0;
  for (int i = 0; i < count; ++i) {
    scratch_[i] = Filter::At((i + first - center + 0.5) * inverse);
    sum += scratch_[i];
  }
  for (int i = 0; i < count; ++i) weights[i] = ToFixedPoint<Filter::kNegative>(scratch_[i] / sum);
  return Trim({static_cast<uint32_t>(first), static_cast<uint32_t>(count)}, weights);
}

void Taps::Summarize() {
  uint32_t first = inputs_[0].first;
  uint32_t end = 0;
  max_count_ = 0;
  kept_ = 0;
  for (const TapRange& range : inputs_) {
    first = std::min(first, range.first);
    end = std::max(end, range.first + range.count);
    kept_ = std::max(kept_, end - range.first);
    max_count_ = std::max(max_count_, range.count);
  }
  needed_ = {first, end - first};
}

}  // namespace penstock::resample
