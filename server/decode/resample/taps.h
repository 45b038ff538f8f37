// The weights for a resize along one axis: Pillow's antialiased triangle filter, in fixed point so
// that results are exact. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "server/decode/core/placement.h"

namespace penstock::decode {

inline constexpr int kWeightBits = 22;  // 2²² represents a weight of 1

struct TapRange {
  uint32_t first = 0;
  uint32_t count = 0;
};

// Each output i is the sum of the inputs in inputs[i], times weights(i)[0 … count), plus 2²¹,
// shifted right by 22, clipped to 8 bits. Zero weights at either end are omitted. Keeps its memory
// from one axis to the next.
class Taps {
 public:
  void Compute(const Axis& axis);

  uint32_t outputs() const { return static_cast<uint32_t>(inputs_.size()); }
  const TapRange& inputs(uint32_t output) const { return inputs_[output]; }
  const int32_t* weights(uint32_t output) const { return &weights_[size_t{output} * stride_]; }

  uint32_t max_count() const { return max_count_; }
  TapRange needed() const { return needed_; }  // the inputs that any output uses

 private:
  TapRange ComputeOne(const Axis& axis, uint32_t output, double scale, int32_t* weights);
  void Summarize();

  uint32_t stride_ = 0;
  uint32_t max_count_ = 0;
  TapRange needed_;
  std::vector<TapRange> inputs_;
  std::vector<int32_t> weights_;
  std::vector<double> scratch_;
};

}  // namespace penstock::decode
