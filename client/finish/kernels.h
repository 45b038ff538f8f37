// The inner loops of the finish, with one variant for each level of CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "client/finish/finish.h"

namespace penstock::finish {

// For a run of elements: element i uses the mean and standard deviation at i modulo their number.
struct Coefficients {
  std::span<const float> mean;
  std::span<const float> stddev;
};

// Converts uint8 values to another type, with the coefficients that it was prepared for.
class Converter {
 public:
  virtual ~Converter() = default;
  // Converts a run of values that begins with the first coefficient of part `part`.
  virtual void Convert(size_t part, const uint8_t* values, size_t count, std::byte* out) const = 0;
};

struct Kernels {
  // Splits interleaved pixels of `channels` bytes into one plane for each channel.
  void (*split)(const uint8_t* pixels, size_t count, uint32_t channels, uint8_t* const* planes);
  // For types other than uint8. At most 16 coefficients in a part. `output_bytes`: of all that will
  // be converted, which other threads may read once the converter is destroyed.
  std::unique_ptr<Converter> (*prepare)(Type type, std::span<const Coefficients> parts,
                                        size_t output_bytes);
  // out[i] = fl(fl(a[i] · factor_a) + fl(b[i] · factor_b)), rounded to a float type.
  void (*blend)(const float* a, float factor_a, const float* b, float factor_b, size_t count,
                Type type, std::byte* out);
};

extern const Kernels kPortableKernels;

// Whether this build and this CPU have AVX2, FMA and F16C.
bool HasAvx2();

// **Requires** HasAvx2().
extern const Kernels kAvx2Kernels;

inline const Kernels& KernelsOf(Variant variant) {
  return variant == Variant::kAvx2 ? kAvx2Kernels : kPortableKernels;
}

}  // namespace penstock::finish
