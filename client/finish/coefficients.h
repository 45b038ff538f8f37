// Means and standard deviations in the form that a kernel takes by value. Pure.
#pragma once

#include "client/finish/finish.h"

namespace penstock::finish {

// How a kernel divides. kByRemainder multiplies by the inverse and corrects by the remainder: fast,
// and correct for nearly every divisor. kExact divides as IEEE 754 requires. kByRemainder is used
// only if both give the same bits.
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

// Prepares the coefficients of a spec that CheckCoefficients accepts; uint8 needs none. Each thread
// caches its last result: a trainer asks for the same one repeatedly, and trying all values takes
// microseconds.
const PreparedCoefficients& PrepareCoefficients(const Spec& spec, uint32_t channels);

}  // namespace penstock::finish
