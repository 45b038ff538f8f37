// Computes one element, and packs elements for a 16-byte store, for each output type. For kernels
// only.
//
// Every operation names its rounding mode, so that the compiler cannot fuse them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#include "client/finish/coefficients.h"

namespace penstock::finish::device {

struct Coefficient {
  float mean, stddev, inverse;
};

__device__ inline Coefficient At(const CoefficientTable& table, uint32_t channel) {
  return {table.mean[channel], table.stddev[channel], table.inverse[channel]};
}

// With the byte in the low bits of its mantissa, 2²³ becomes 2²³ + byte; cheaper than a conversion.
__device__ inline float ToFloat(uint32_t byte) {
  return __fsub_rn(__uint_as_float(0x4B000000u | byte), 8388608.0f);
}

__device__ inline float DivideByRemainder(float x, float divisor, float inverse) {
  const float quotient = __fmul_rn(x, inverse);
  const float remainder = __fmaf_rn(-divisor, quotient, x);
  return __fmaf_rn(remainder, inverse, quotient);
}

template <Division division>
__device__ float Normalise(uint32_t byte, const Coefficient& c) {
  const float value = ToFloat(byte);
  if constexpr (division == Division::kByRemainder) {
    const float unit = DivideByRemainder(value, 255.0f, 1.0f / 255.0f);
    return DivideByRemainder(__fsub_rn(unit, c.mean), c.stddev, c.inverse);
  } else {
    return __fdiv_rn(__fsub_rn(__fdiv_rn(value, 255.0f), c.mean), c.stddev);
  }
}

// Makes elements of a type from bytes, or rounds values to them; kGroup fill a 16-byte store.
template <Type type, Division division>
struct Maker;

template <Division division>
struct Maker<Type::kUInt8, division> {
  using Element = uint8_t;
  static constexpr uint32_t kGroup = 16;
  __device__ static uint8_t Make(uint32_t byte, const Coefficient&) {
    return static_cast<uint8_t>(byte);
  }
  __device__ static uint8_t Round(float value) { return static_cast<uint8_t>(value); }
  __device__ static uint32_t Word(const uint8_t* v) {
    return v[0] | static_cast<uint32_t>(v[1]) << 8 | static_cast<uint32_t>(v[2]) << 16 |
           static_cast<uint32_t>(v[3]) << 24;
  }
  __device__ static uint4 Pack(const uint8_t (&v)[kGroup]) {
    return {Word(v), Word(v + 4), Word(v + 8), Word(v + 12)};
  }
};

template <Division division>
struct Maker<Type::kFloat32, division> {
  using Element = float;
  static constexpr uint32_t kGroup = 4;
  __device__ static float Make(uint32_t byte, const Coefficient& c) {
    return Normalise<division>(byte, c);
  }
  __device__ static float Round(float value) { return value; }
  __device__ static uint4 Pack(const float (&v)[kGroup]) {
    return {__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]),
            __float_as_uint(v[3])};
  }
};

template <Division division>
struct Maker<Type::kFloat16, division> {
  using Element = uint16_t;
  static constexpr uint32_t kGroup = 8;
  __device__ static uint16_t Make(uint32_t byte, const Coefficient& c) {
    return Round(Normalise<division>(byte, c));
  }
  __device__ static uint16_t Round(float value) { return __half_as_ushort(__float2half_rn(value)); }
  __device__ static uint32_t Word(const uint16_t* v) {
    return v[0] | static_cast<uint32_t>(v[1]) << 16;
  }
  __device__ static uint4 Pack(const uint16_t (&v)[kGroup]) {
    return {Word(v), Word(v + 2), Word(v + 4), Word(v + 6)};
  }
};

template <Division division>
struct Maker<Type::kBFloat16, division> {
  using Element = uint16_t;
  static constexpr uint32_t kGroup = 8;
  __device__ static uint16_t Make(uint32_t byte, const Coefficient& c) {
    return Round(Normalise<division>(byte, c));
  }
  __device__ static uint16_t Round(float value) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
  }
  __device__ static uint4 Pack(const uint16_t (&v)[kGroup]) {
    return Maker<Type::kFloat16, division>::Pack(v);
  }
};

__device__ inline void Store(std::byte* at, uint4 group) { *reinterpret_cast<uint4*>(at) = group; }

template <typename Element>
__device__ void StoreOne(std::byte* at, Element element) {
  if (reinterpret_cast<uintptr_t>(at) % sizeof(Element) == 0) {
    *reinterpret_cast<Element*>(at) = element;
    return;
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(&element);
  for (size_t i = 0; i < sizeof(Element); ++i) at[i] = bytes[i];
}

// Reads `kBytes` bytes into words with one aligned read through the read-only cache.
template <uint32_t kBytes>
__device__ void Load(const uint8_t* at, uint32_t* words) {
  if constexpr (kBytes == 4) {
    words[0] = __ldg(reinterpret_cast<const uint32_t*>(at));
  } else if constexpr (kBytes == 8) {
    const uint2 read = __ldg(reinterpret_cast<const uint2*>(at));
    words[0] = read.x, words[1] = read.y;
  } else {
    static_assert(kBytes == 16);
    const uint4 read = __ldg(reinterpret_cast<const uint4*>(at));
    words[0] = read.x, words[1] = read.y, words[2] = read.z, words[3] = read.w;
  }
}

// Byte i of the words that Load returned.
__device__ inline uint32_t ByteOf(const uint32_t* words, uint32_t i) {
  return words[i / 4] >> (8 * (i % 4)) & 0xFF;
}

}  // namespace penstock::finish::device
