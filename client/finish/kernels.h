// The two inner loops of the finish, in one variant each for what the CPU can do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "penstock/finish.h"

namespace penstock::finish {

// Of a run of elements: element i has the mean and standard deviation at i modulo the size.
struct Coefficients {
  std::span<const float> mean;
  std::span<const float> stddev;
};

// Turns uint8 values into another type, for the coefficients it was prepared for.
class Converter {
 public:
  virtual ~Converter() = default;
  // A run of values that begins with the first of its coefficients. `part`: which of them.
  virtual void Convert(size_t part, const uint8_t* values, size_t count, std::byte* out) const = 0;
};

struct Kernels {
  // Interleaved pixels of `channels` bytes → one plane a channel.
  void (*split)(const uint8_t* pixels, size_t count, uint32_t channels, uint8_t* const* planes);
  // For a type that is not uint8. At most 16 coefficients a part.
  std::unique_ptr<Converter> (*prepare)(Type type, std::span<const Coefficients> parts);
};

extern const Kernels kPortableKernels;

// Whether this build and this CPU have AVX2, FMA and F16C; only then may kAvx2Kernels be used.
bool HasAvx2();
extern const Kernels kAvx2Kernels;

}  // namespace penstock::finish
