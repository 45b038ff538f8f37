// The weights for a resize along one axis: those of Pillow's filters, in fixed point so that
// results are exact. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/interpolation.h"
#include "common/resample/axis.h"

namespace penstock::resample {

inline constexpr int kWeightBits = 22;  // 2²² represents a weight of 1

struct TapRange {
  uint32_t first = 0;
  uint32_t count = 0;
};

// Each output i is the sum of the inputs in inputs[i], times weights(i)[0 … count), plus 2²¹,
// shifted right by 22, clipped to 8 bits. Zero weights at either end are omitted. The bicubic and
// Lanczos filters have negative weights, too, but the sum of an output's absolute values stays
// below 1.9 · 2²², so no sum overflows 32 bits. Keeps its memory from one axis to the next.
//
// All but nearest are antialiased: when shrinking, the filter covers as many more inputs. Nearest
// takes the input below the output's centre, as Pillow does.
class Taps {
 public:
  void Compute(const Axis& axis, base::Interpolation interpolation);

  uint32_t outputs() const { return static_cast<uint32_t>(inputs_.size()); }
  const TapRange& inputs(uint32_t output) const { return inputs_[output]; }
  const int32_t* weights(uint32_t output) const { return &weights_[size_t{output} * stride_]; }

  // What it keeps in memory.
  size_t bytes() const {
    return sizeof *this + inputs_.capacity() * sizeof(TapRange) +
           weights_.capacity() * sizeof(int32_t) + scratch_.capacity() * sizeof(double);
  }

  uint32_t max_count() const { return max_count_; }
  TapRange needed() const { return needed_; }  // the inputs that any output uses

  // If outputs are computed in order, each as soon as its inputs and those of all before it have
  // arrived, the number of latest inputs that must be kept. It exceeds max_count() where an output
  // of many weights is followed by one whose weights beside the middle are zero, or vice versa.
  uint32_t kept() const { return kept_; }

 private:
  void ComputeNearest(const Axis& axis);
  template <typename Filter>
  void ComputeAll(const Axis& axis);
  template <typename Filter>
  TapRange ComputeOne(const Axis& axis, uint32_t output, double scale, int32_t* weights);
  void Summarize();

  uint32_t stride_ = 0;
  uint32_t max_count_ = 0;
  uint32_t kept_ = 0;
  TapRange needed_;
  std::vector<TapRange> inputs_;
  std::vector<int32_t> weights_;
  std::vector<double> scratch_;
};

}  // namespace penstock::resample
