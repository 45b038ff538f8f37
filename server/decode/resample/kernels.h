// The inner loops of a resize, in one file per instruction set. All of them compute the same
// integers; sums are exact modulo 2³² and the result fits, so neither order nor split of the
// weights shows.
//
// These headers and the kernels' files use no templates or inline functions of the standard
// library: compiled for a newer CPU, they could be linked into code that runs on an older one.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace penstock::decode {

inline constexpr int kRowsAtOnce = 4;

// How far behind their last pixel or byte rows must be readable (its value does not matter), and
// outputs of `horizontal` writable.
inline constexpr size_t kSlackBytes = 64;

// Four rows of RGBX → four rows of RGB, in bytes.
struct HorizontalJob {
  const uint8_t* const* rows;  // kRowsAtOnce of them
  uint8_t* const* out;         // kRowsAtOnce of them
  const uint32_t* first;       // by output: the byte of a row where its first input begins
  const int32_t* weights;      // by output, by group: packed
  int groups;                  // of every output; the last may reach kSlackBytes beyond the row
  int outputs;                 // a multiple of four
};

// Rows → one row: out[i] is the weighted sum over rows[…][i].
struct VerticalJob {
  const uint8_t* const* rows;  // groups × taps_per_group of them; those behind the last count 0
  const int32_t* weights;      // by group: packed
  int groups;
  uint8_t* out;  // exactly `bytes` are written
  size_t bytes;
};

struct Kernels {
  const char* name;
  bool (*supported)();  // by this CPU and operating system
  int taps_per_group;
  int words_per_group;
  // taps_per_group weights (at most eight, or kSlackBytes is too little) → words_per_group words.
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
