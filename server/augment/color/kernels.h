// The inner loops of colour operations, compiled once for each instruction set. All variants
// compute the same bytes: integers, or floats and doubles that are rounded after each operation,
// without fused multiply-add.
//
// Kernel files and these headers use no templates or inline functions of the standard library. Such
// a function, compiled for a newer CPU, could be linked into code that runs on an older one.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace penstock::augment {

// One row of an image and those beside it, without the first and last pixel, which need neighbours.
struct SharpenJob {
  const uint8_t* above;
  const uint8_t* row;
  const uint8_t* below;
  uint8_t* out;  // none of the above
  size_t bytes;  // of each row, with the first and last pixel
  size_t channels;
  float factor;
};

struct ColorKernels {
  const char* name;
  bool (*supported)();  // by this CPU and the operating system

  // Each byte v becomes 255 − v.
  void (*invert)(uint8_t* bytes, size_t count);
  // Each byte v becomes v & mask.
  void (*mask)(uint8_t* bytes, size_t count, uint8_t mask);
  // Each byte v ≥ threshold becomes 255 − v. 0 ≤ threshold ≤ 256.
  void (*solarize)(uint8_t* bytes, size_t count, int threshold);
  // Each byte v becomes base + factor · (v − base), clipped and truncated.
  void (*blend)(uint8_t* bytes, size_t count, uint8_t base, float factor);
  // The same with the pixel's luma as base.
  void (*saturate)(uint8_t* rgb, size_t pixels, float factor);
  // Each pixel's channels become its luma.
  void (*make_gray)(uint8_t* rgb, size_t pixels);
  // Sum over the pixels' luma.
  uint64_t (*sum_luma)(const uint8_t* rgb, size_t pixels);
  // Adds `shift` to the hue, modulo 256.
  void (*shift_hue)(uint8_t* rgb, size_t pixels, uint8_t shift);
  // Replaces each channel's values by those in its table.
  void (*look_up)(uint8_t* rgb, size_t pixels, const uint8_t (*tables)[256]);
  // Blends a row with its smoothed version.
  void (*sharpen)(const SharpenJob& job);
};

extern const ColorKernels kPortableColorKernels;
#if defined(PENSTOCK_AUGMENT_X86)
extern const ColorKernels kAvx2ColorKernels;
extern const ColorKernels kAvx512ColorKernels;
#endif

// The fastest that this CPU supports.
const ColorKernels& BestColorKernels();

}  // namespace penstock::augment
