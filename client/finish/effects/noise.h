// The noise of an erased box, for the CPU and the GPU: Box and Muller's method in float32, with
// series for the logarithm, the sine and the cosine. Every operation rounds to nearest even, none
// is fused, so both give the same bits. server/plan/README.md specifies it in Python.
#pragma once

#include <cmath>
#include <cstdint>

#include "client/finish/both.h"
#include "common/base/philox.h"

namespace penstock::finish {

struct Normals {
  float at[4];
};

PENSTOCK_BOTH inline uint32_t BitsOf(float value) {
  union {
    float value;
    uint32_t bits;
  } both = {value};
  return both.bits;
}

PENSTOCK_BOTH inline float FloatOf(uint32_t bits) {
  union {
    uint32_t bits;
    float value;
  } both = {bits};
  return both.value;
}

// √(−2 · log(u)), where u is a number in (0, 1) made of the word's 23 high bits.
PENSTOCK_BOTH inline float RadiusOf(uint32_t word) {
  const float u = static_cast<float>((word >> 9) * 2 + 1) * 5.9604644775390625e-08f;  // · 2⁻²⁴
  int exponent = static_cast<int>(BitsOf(u) >> 23) - 126;
  float fraction = FloatOf((BitsOf(u) & 0x007FFFFFu) | 0x3F000000u);  // [½, 1)
  if (fraction < 0.70710677f) fraction = fraction + fraction, exponent = exponent - 1;
  const float s = (fraction - 1.0f) / (fraction + 1.0f);
  const float z = s * s;
  float sum = 1.0f / 9.0f;
  sum = sum * z + 1.0f / 7.0f;
  sum = sum * z + 1.0f / 5.0f;
  sum = sum * z + 1.0f / 3.0f;
  sum = sum * z + 1.0f;
  const float log = static_cast<float>(exponent) * 0.6931472f + (s + s) * sum;
  return sqrtf(-2.0f * log);
}

// Two normal variates: a radius times the cosine and the sine of a random angle. The angle is a
// quarter turn, chosen by the word's two high bits, plus up to an eighth of a turn.
PENSTOCK_BOTH inline void TwoNormals(uint32_t for_radius, uint32_t for_angle, float* first,
                                     float* second) {
  const float radius = RadiusOf(for_radius);
  const int32_t offset = static_cast<int32_t>(for_angle << 2) >> 8;     // [−2²³, 2²³)
  const float t = static_cast<float>(offset) * 9.362675703014247e-08f;  // · π / 4 / 2²³
  const float z = t * t;
  float sine = 1.0f - z * (1.0f / 72.0f);
  sine = 1.0f - z * (1.0f / 42.0f) * sine;
  sine = 1.0f - z * (1.0f / 20.0f) * sine;
  sine = t * (1.0f - z * (1.0f / 6.0f) * sine);
  float cosine = 1.0f - z * (1.0f / 56.0f);
  cosine = 1.0f - z * (1.0f / 30.0f) * cosine;
  cosine = 1.0f - z * (1.0f / 12.0f) * cosine;
  cosine = 1.0f - z * 0.5f * cosine;
  const uint32_t quarter = for_angle >> 30;
  const float x = quarter & 1 ? sine : cosine, y = quarter & 1 ? cosine : sine;
  *first = radius * (quarter == 1 || quarter == 2 ? -x : x);
  *second = radius * (quarter >= 2 ? -y : y);
}

// The noise of channels 4·group … 4·group + 3 of a pixel.
PENSTOCK_BOTH inline Normals NoiseOf(uint64_t key, uint64_t pixel, uint32_t group) {
  const base::PhiloxWords words = base::Philox4x32(
      {static_cast<uint32_t>(pixel), static_cast<uint32_t>(pixel >> 32), group, 0}, key);
  Normals normals;
  TwoNormals(words[0], words[1], &normals.at[0], &normals.at[1]);
  TwoNormals(words[2], words[3], &normals.at[2], &normals.at[3]);
  return normals;
}

}  // namespace penstock::finish
