// The inner loops of affine and perspective transforms that read between pixels, compiled once for
// each instruction set. All variants compute the same bytes: they round every product and every sum
// to double on its own, in the same order.
#pragma once

#include <cstdint>
#include <span>

#include "server/augment/image.h"
#include "server/augment/warp/sampling.h"

namespace penstock::augment {

// The output pixel (x, y) shows the input at
//   ((a0 X + a1 Y + a2) / d, (a3 X + a4 Y + a5) / d), X = x + 0.5, Y = y + 0.5,
// where d is 1 for an affine transform and a6 X + a7 Y + 1 for a perspective one.
struct WarpJob {
  ConstImageView in;
  ImageView out;
  const double* coefficients;  // six or eight
  Fill fill;
};

using WarpFunction = void (*)(const WarpJob& job);

// Writes the `width` pixels of `row` to `out` in reverse order. **Requires** that they do not
// overlap.
using ReverseFunction = void (*)(const uint8_t* row, uint8_t* out, uint32_t width);

// Positions in the input of an output row's pixels, and the step from one to the next, in 16.16
// fixed point.
struct FixedLine {
  int64_t x, y, x_step, y_step;
};

inline constexpr int kFixedBits = 16;

// Copies the nearest pixel for each of `count` positions. **Requires** that all are within the
// image, in rows before the last one, which has three pixels or more; and that the image has less
// than 2³¹ bytes.
using CopyLineFunction = void (*)(const ConstImageView& in, FixedLine line, uint32_t count,
                                  uint8_t* out);

struct WarpKernels {
  const char* name;
  bool (*supported)();
  // By sampling (null where CanSample is false), and by channels: [0] is gray, [1] is RGB.
  WarpFunction affine[base::kInterpolations][2];
  WarpFunction perspective[base::kInterpolations][2];
  ReverseFunction reverse[2];
  CopyLineFunction copy_line[2];
};

extern const WarpKernels kPortableWarpKernels;
#if defined(PENSTOCK_AUGMENT_WARP_X86)
extern const WarpKernels kAvx2WarpKernels;
#endif

// Fastest first.
std::span<const WarpKernels* const> AllWarpKernels();

// The fastest that this CPU supports.
const WarpKernels& BestWarpKernels();

// The place of an image's functions in the tables above.
inline int KernelIndex(uint32_t channels) { return channels == 3 ? 1 : 0; }

}  // namespace penstock::augment
