// How the kernels that make rows add up pixels times weights, and turn sums into pixels.
//
// Includes no CUDA header, so that a test can run it on a CPU (tests/support/gpu_decode).
#pragma once

#include <cstdint>

#include "client/gpu_decode/kernel_row.h"

namespace penstock::gpu_decode::device {

// One instruction, where shifts and masks would be two.
__device__ __forceinline__ uint32_t Byte(uint32_t word, uint32_t index) {
  return __byte_perm(word, 0, 0x4440 + index);
}

// The compiler keeps the value in a register instead of computing it again where it is used.
__device__ __forceinline__ uint32_t Kept(uint32_t value) {
#if defined(__CUDA_ARCH__)
  asm("" : "+r"(value));
#endif
  return value;
}

// A pixel's three sums, of weights of any sign.
struct ClippedSum {
  static constexpr int kHalf = 1 << 21;
  int red = kHalf, green = kHalf, blue = kHalf;

  __device__ void Add(uint32_t r, uint32_t g, uint32_t b, uint32_t weight) {
    red += static_cast<int>(weight * r);
    green += static_cast<int>(weight * g);
    blue += static_cast<int>(weight * b);
  }
  __device__ uint32_t Pixel() const { return Clip(red) | Clip(green) << 8 | Clip(blue) << 16; }

  // To 0 … 255; one instruction on Hopper, and a shift.
  __device__ static uint32_t Clip(int sum) {
    return static_cast<uint32_t>(__vimin_s32_relu(sum >> 22, 255));
  }
};

// The same of a plain row: sums are 0 to 255.5, so nothing is clipped, and their upper bytes are
// the pixel. Its fourth byte is anything.
struct PlainSum {
  static constexpr uint32_t kHalf = ClippedSum::kHalf << kPlainShift;
  uint32_t red = kHalf, green = kHalf, blue = kHalf;

  __device__ void Add(uint32_t r, uint32_t g, uint32_t b, uint32_t weight) {
    red += weight * r;
    green += weight * g;
    blue += weight * b;
  }
  __device__ uint32_t Pixel() const {
    return __byte_perm(__byte_perm(red, green, 0x73), blue, 0x710);
  }
};

template <typename Sum>
__device__ __forceinline__ void Add(Sum& sum, uint32_t pixel, uint32_t weight) {
  sum.Add(Byte(pixel, 0), Byte(pixel, 1), Byte(pixel, 2), weight);
}

// The bytes of a pixel lie anywhere in `words`; `at` is known when this is compiled.
template <typename Sum>
__device__ __forceinline__ void AddAt(Sum& sum, const uint32_t* words, int at, uint32_t weight) {
  sum.Add(Byte(words[at / 4], at % 4), Byte(words[(at + 1) / 4], (at + 1) % 4),
          Byte(words[(at + 2) / 4], (at + 2) % 4), weight);
}

}  // namespace penstock::gpu_decode::device
