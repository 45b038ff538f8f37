// Conversion of float32 to float16 and bfloat16, rounded to nearest even, in integer arithmetic.
// Not for NaN.
#pragma once

#include <bit>
#include <cstdint>

namespace penstock::finish {

// IEEE 754 binary16: infinity beyond 65504 (after rounding), subnormal for small values.
inline uint16_t ToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  constexpr uint32_t kTwoTo16 = 0x47800000, kSmallestNormal = 0x38800000;  // 2¹⁶, 2⁻¹⁴
  if (magnitude >= kTwoTo16) return static_cast<uint16_t>(sign | 0x7C00);
  if (magnitude < kSmallestNormal) {
    // The last place of 0.5 is 2⁻²⁴, that of a subnormal half, so the addition rounds correctly.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3F000000));
  }
  constexpr uint32_t kRebias = (127u - 15u) << 23;
  const uint32_t odd = (magnitude >> 13) & 1;
  return static_cast<uint16_t>(sign | ((magnitude - kRebias + 0xFFF + odd) >> 13));
}

// The upper half of a float32.
inline uint16_t ToBFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

}  // namespace penstock::finish
