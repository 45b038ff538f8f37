// Means and standard deviations as a kernel takes them: by value. Pure.
#pragma once

#include "client/finish/finish.h"

namespace penstock::finish {

// How a kernel divides: by the remainder of a product with the inverse, which is quick and for
// nearly every divisor right, or as IEEE 754 asks. Both give the same bits where the first is used.
enum class Division { kByRemainder, kExact };

struct CoefficientTable {
  float mean[kMaxChannels];
  float stddev[kMaxChannels];
  float inverse[kMaxChannels];  // 1 / stddev
};

struct PreparedCoefficients {
  Division division = Division::kExact;
  CoefficientTable table = {};
};

// Whether both ways of dividing give the same bits for all 256 values.
bool RemainderIsExact(float mean, float stddev);

// For a spec that CheckCoefficients accepts; of uint8 there is nothing to prepare. Each thread
// keeps the last one: a trainer asks for the same again and again, and trying all values takes
// microseconds.
const PreparedCoefficients& PrepareCoefficients(const Spec& spec, uint32_t channels);

}  // namespace penstock::finish
