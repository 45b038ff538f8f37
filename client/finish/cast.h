// Casts of single elements, for the CPU and the GPU, and the list of casts that exist.
#pragma once

#include <cstdint>

#include "client/finish/both.h"
#include "common/base/dtype.h"

namespace penstock::finish {

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

PENSTOCK_BOTH inline float ToFloat(uint32_t bits) {
  union {
    uint32_t bits;
    float value;
  } both = {bits};
  return both.value;
}

// Exact, because every half is a float32. A subnormal half is its ten bits in units of 2⁻²⁴.
PENSTOCK_BOTH inline float ToFloat(Half half) {
  const uint32_t sign = uint32_t{half.bits & 0x8000u} << 16;
  const uint32_t exponent = half.bits >> 10 & 0x1F, fraction = half.bits & 0x3FF;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 5.9604644775390625e-08f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t biased = exponent == 0x1F ? 0xFF : exponent + 112;
  return ToFloat(sign | biased << 23 | fraction << 13);
}

PENSTOCK_BOTH inline float ToFloat(BFloat value) { return ToFloat(uint32_t{value.bits} << 16); }

template <typename From, typename To>
struct Cast {
  PENSTOCK_BOTH static To Of(From value) { return static_cast<To>(value); }
};
template <>
struct Cast<Half, float> {
  PENSTOCK_BOTH static float Of(Half value) { return ToFloat(value); }
};
template <>
struct Cast<BFloat, float> {
  PENSTOCK_BOTH static float Of(BFloat value) { return ToFloat(value); }
};

// Calls visit.operator()<From, To>() if this cast exists; otherwise returns false. For equal types,
// From and To are unsigned integers of their size.
template <typename Visit>
bool ForCast(base::DType from, base::DType to, Visit&& visit) {
  using base::DType;
  const auto whole = [&]<typename To>() {
    switch (from) {
      case DType::kBool:
      case DType::kUInt8:
        return visit.template operator()<uint8_t, To>(), true;
      case DType::kInt8:
        return visit.template operator()<int8_t, To>(), true;
      case DType::kUInt16:
        return visit.template operator()<uint16_t, To>(), true;
      case DType::kInt16:
        return visit.template operator()<int16_t, To>(), true;
      case DType::kUInt32:
        if constexpr (sizeof(To) == 8) return visit.template operator()<uint32_t, To>(), true;
        return false;
      case DType::kInt32:
        return visit.template operator()<int32_t, To>(), true;
      default:
        return false;
    }
  };
  if (from == to) {
    switch (base::ElementBytes(from)) {
      case 1:
        return visit.template operator()<uint8_t, uint8_t>(), true;
      case 2:
        return visit.template operator()<uint16_t, uint16_t>(), true;
      case 4:
        return visit.template operator()<uint32_t, uint32_t>(), true;
      default:
        return visit.template operator()<uint64_t, uint64_t>(), true;
    }
  }
  if (to == DType::kInt32) return whole.template operator()<int32_t>();
  if (to == DType::kInt64) return whole.template operator()<int64_t>();
  if (to != DType::kFloat32) return false;
  if (from == DType::kFloat16) return visit.template operator()<Half, float>(), true;
  if (from == DType::kBFloat16) return visit.template operator()<BFloat, float>(), true;
  if (from == DType::kFloat64) return visit.template operator()<double, float>(), true;
  return false;
}

}  // namespace penstock::finish
