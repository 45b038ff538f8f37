// The arguments of a launch with effects, by value. Includes no CUDA header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "client/finish/effects/effects.h"
#include "client/finish/launch.h"

namespace penstock::finish {

// A kernel's arguments are limited to 4 KiB. A row's box takes one word; its noise takes a second.
inline constexpr uint32_t kBoxWords = 384;

struct EffectsJob {
  Job job;
  uint32_t rows = 0, width = 0;  // of the whole batch
  uint32_t first_row = 0;        // of this launch
  MixKind mix = MixKind::kNone;
  MixFactors factors;
  PixelBox cut;
  bool erases = false, noise = false;
  float value[kEffectChannels] = {};
  const int64_t* labels = nullptr;  // for soft labels; null: those of synthetic rows
  float* soft_labels = nullptr;     // null: none in this launch
  uint32_t classes = 0;
  // One for the partner of the first row, then one for each row: its sides in 16 bits each, then
  // with `noise` its key.
  uint64_t boxes[kBoxWords];
};

constexpr uint64_t Packed(const PixelBox& box) {
  return uint64_t{box.x} | uint64_t{box.y} << 16 | uint64_t{box.width} << 32 |
         uint64_t{box.height} << 48;
}

// Rows that a launch can take.
constexpr uint32_t RowsPerLaunch(const EffectsJob& job, uint32_t rows) {
  if (!job.erases) return rows;
  const uint32_t most = kBoxWords / (job.noise ? 2 : 1) - 1;
  return rows < most ? rows : most;
}

// Enqueues one launch. Returns a cudaError_t; 0 is success.
int LaunchEffects(const EffectsJob& job, Type type, Layout layout, Division division, void* stream);

}  // namespace penstock::finish
