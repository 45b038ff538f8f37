// The inner loops of a blur, compiled once for each instruction set. See kernels.h for what such
// files may use.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace penstock::augment {

// How far past their last value rows of floats must be readable and writable.
inline constexpr size_t kBlurSlack = 64;

// How many pixels `chain` sums at once.
inline constexpr int kChains = 8;

struct BlurKernels {
  const char* name;
  bool (*supported)();  // by this CPU and the operating system

  // Converts bytes.
  void (*widen)(const uint8_t* bytes, size_t count, float* out);

  // out[i] = Σ weights[j] · row[i + j · channels], rounded in any way.
  void (*across)(const float* row, const float* weights, size_t taps, size_t channels, size_t count,
                 float* out);

  // out[i] = Σ weights[j] · rows[j][i], rounded in any way.
  void (*down)(const float* const* rows, const float* weights, size_t taps, size_t count,
               float* out);

  // Rounds to the nearest integer; near[i] is 1 if the value is within `margin` of half an integer,
  // else 0.
  void (*round)(const float* values, size_t count, float margin, uint8_t* out, uint8_t* near);

  // For each of kChains positions: a sum of floats, with one fused multiply-add for each weight,
  // row by row, from left to right.
  void (*chain)(const float* const* rows, const uint32_t* at, const float* weights, size_t taps,
                size_t taps_down, size_t channels, float* out);
};

extern const BlurKernels kPortableBlurKernels;
#if defined(PENSTOCK_AUGMENT_X86)
extern const BlurKernels kAvx2BlurKernels;
extern const BlurKernels kAvx512BlurKernels;
#endif

// The fastest that this CPU supports.
const BlurKernels& BestBlurKernels();

}  // namespace penstock::augment
