// What the kernels with effects share: erased values, mixed values, soft labels. For kernels only.
#pragma once

#include "client/finish/effects/launch.h"
#include "client/finish/effects/noise.h"
#include "client/finish/values.cuh"

namespace penstock::finish::device {

struct Box {
  uint32_t x = 0, y = 0, width = 0, height = 0;
  uint64_t noise_key = 0;
  __device__ bool Has(uint32_t pixel_x, uint32_t pixel_y) const {
    return pixel_x - x < width && pixel_y - y < height;
  }
};

// The box at a place of the launch's list: 0 for the first row's partner, then one for each row.
__device__ inline Box BoxAt(const EffectsJob& effects, uint32_t place) {
  if (!effects.erases) return {};
  const uint64_t packed = effects.boxes[effects.noise ? 2 * place : place];
  Box box;
  box.x = packed & 0xFFFF, box.y = packed >> 16 & 0xFFFF;
  box.width = packed >> 32 & 0xFFFF, box.height = packed >> 48;
  if (effects.noise) box.noise_key = effects.boxes[2 * place + 1];
  return box;
}

__device__ inline Box ToCut(const EffectsJob& effects) {
  return {effects.cut.x, effects.cut.y, effects.cut.width, effects.cut.height, 0};
}

// One channel of a pixel's noise. A call of its own, because few pixels need it.
__device__ __noinline__ inline float PixelNoise(uint64_t key, uint32_t pixel, uint32_t channel) {
  const Normals normals = NoiseOf(key, pixel, 0);
  return channel == 0 ? normals.at[0] : channel == 1 ? normals.at[1] : normals.at[2];
}

__device__ inline float MixedUp(const EffectsJob& effects, float partner, float own) {
  return __fadd_rn(__fmul_rn(partner, effects.factors.of_partner),
                   __fmul_rn(own, effects.factors.of_row));
}

// A byte as a value before it is rounded to the type.
template <Type type, Division division>
__device__ float ValueOf(uint32_t byte, const Coefficient& c) {
  if constexpr (type == Type::kUInt8) {
    return ToFloat(byte);
  } else {
    return Normalise<division>(byte, c);
  }
}

__device__ inline int64_t LabelOf(const EffectsJob& effects, uint32_t row) {
  if (effects.labels != nullptr) return __ldg(effects.labels + row);
  return SyntheticLabel(effects.job.synthetic, SampleOf(effects.job.synthetic, row));
}

// All threads of the grid write a part of the soft labels.
__device__ inline void MakeSoftLabels(const EffectsJob& effects) {
  if (effects.soft_labels == nullptr) return;
  const uint64_t total = uint64_t{effects.rows} * effects.classes;
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < total; i += step) {
    const auto row = static_cast<uint32_t>(i / effects.classes);
    const auto which = static_cast<int64_t>(i - uint64_t{row} * effects.classes);
    float value = 0.0f;
    if (LabelOf(effects, PartnerOf(row, effects.rows)) == which) value = effects.factors.of_partner;
    if (LabelOf(effects, row) == which) value = __fadd_rn(value, effects.factors.of_row);
    effects.soft_labels[i] = value;
  }
}

}  // namespace penstock::finish::device
