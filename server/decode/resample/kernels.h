// The inner loops of a resize, one file per instruction set. All of them compute the same integers:
// sums are exact modulo 2³² and the result fits, so the order of the sum and the splitting of
// weights don't matter.
//
// Kernel files and these headers use no templates or inline functions of the standard library. Such
// a function, compiled for a newer CPU, could be linked into code that runs on an older one.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace penstock::decode {

inline constexpr int kRowsAtOnce = 4;

// How far past their last pixel or byte rows must be readable (any value), and outputs of
// `horizontal` writable.
inline constexpr size_t kSlackBytes = 64;

// Resizes four rows of RGBX to four rows of RGB bytes.
struct HorizontalJob {
  const uint8_t* const* rows;  // kRowsAtOnce of them
  uint8_t* const* out;         // kRowsAtOnce of them
  const uint32_t* first;       // for each output: byte offset in a row of its first input
  const int32_t* weights;      // packed, by output and group
  int groups;                  // per output; the last group may reach kSlackBytes past the row
  int outputs;                 // a multiple of four
};

// Combines rows into one: out[i] is the weighted sum over rows[…][i].
struct VerticalJob {
  const uint8_t* const* rows;  // groups × taps_per_group of them; padding rows have weight 0
  const int32_t* weights;      // packed, by group
  int groups;
  uint8_t* out;  // exactly `bytes` are written
  size_t bytes;
};

struct Kernels {
  const char* name;
  bool (*supported)();  // by this CPU and the operating system
  int taps_per_group;
  int words_per_group;
  // Packs taps_per_group weights (at most eight, because of kSlackBytes) into words_per_group
  // words.
  void (*pack)(const int32_t* weights, int32_t* packed);
  void (*horizontal)(const HorizontalJob& job);
  void (*vertical)(const VerticalJob& job);
};

extern const Kernels kPortableKernels;
#if defined(PENSTOCK_DECODE_X86)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512VnniKernels;
#endif

}  // namespace penstock::decode
