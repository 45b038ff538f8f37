// The operations on doubles and their order are those of Pillow's precompute_coeffs and
// normalize_coeffs_8bpc (src/libImaging/Resample.c). Rounding differently in one place changes one
// pixel in a thousand by one. This file is compiled without fused multiply-add.
#include "server/decode/resample/taps.h"

#include <algorithm>
#include <cmath>

namespace penstock::decode {
namespace {

double Triangle(double x) {
  x = std::abs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
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

void Taps::Compute(const Axis& axis) {
  const double scale = static_cast<double>(axis.in) / axis.out;
  stride_ = static_cast<uint32_t>(std::ceil(std::max(scale, 1.0))) * 2 + 1;
  inputs_.resize(axis.count);
  weights_.resize(size_t{axis.count} * stride_);
  scratch_.resize(stride_);
  for (uint32_t i = 0; i < axis.count; ++i) {
    inputs_[i] = ComputeOne(axis, axis.first + i, scale, &weights_[size_t{i} * stride_]);
  }
  Summarize();
}

TapRange Taps::ComputeOne(const Axis& axis, uint32_t output, double scale, int32_t* weights) {
  const double support = std::max(scale, 1.0);
  const double inverse = 1.0 / support;
  const double center = (output + 0.5) * scale;
  const int first = std::max(static_cast<int>(center - support + 0.5), 0);
  const int last = std::min(static_cast<int>(center + support + 0.5), static_cast<int>(axis.in));
  const int count = last - first;
  double sum = 0.0;
  for (int i = 0; i < count; ++i) {
    scratch_[i] = Triangle((i + first - center + 0.5) * inverse);
    sum += scratch_[i];
  }
  for (int i = 0; i < count; ++i) {
    weights[i] = static_cast<int32_t>(0.5 + scratch_[i] / sum * (1 << kWeightBits));
  }
  return Trim({static_cast<uint32_t>(first), static_cast<uint32_t>(count)}, weights);
}

void Taps::Summarize() {
  uint32_t first = inputs_[0].first;
  uint32_t end = 0;
  max_count_ = 0;
  for (const TapRange& range : inputs_) {
    first = std::min(first, range.first);
    end = std::max(end, range.first + range.count);
    max_count_ = std::max(max_count_, range.count);
  }
  needed_ = {first, end - first};
}

}  // namespace penstock::decode
