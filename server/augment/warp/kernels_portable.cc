// For any CPU.
#include "server/augment/warp/kernels_impl.h"

namespace penstock::augment {
namespace {

Ints LoadPixel(const uint8_t* pixel) { return Ints{pixel[0], pixel[1], pixel[2], pixel[3]}; }

void StorePixel(Ints values, uint8_t* out) {
  for (int i = 0; i < 4; ++i) out[i] = static_cast<uint8_t>(values[i]);
}

Doubles ToDoubles(Ints values) { return __builtin_convertvector(values, Doubles); }
Ints ToInts(Doubles values) { return __builtin_convertvector(values, Ints); }
bool All(Mask mask) { return (mask[0] & mask[1] & mask[2] & mask[3]) != 0; }

template <int kChannelCount>
void Reverse(const uint8_t* row, uint8_t* out, uint32_t width) {
  const uint8_t* from = row + size_t{width} * kChannelCount;
  for (uint32_t i = 0; i < width; ++i, out += kChannelCount) {
    from -= kChannelCount;
    memcpy(out, from, kChannelCount);
  }
}

// Moving four bytes of RGB is faster than three.
template <int kChannelCount>
void CopyLine(const ConstImageView& in, FixedLine line, uint32_t count, uint8_t* out) {
  const uint32_t wide = kChannelCount == 3 ? count - 1 : 0;
  CopyPixels<kChannelCount, 4>(in, line, wide, out);
  line.x += wide * line.x_step;
  line.y += wide * line.y_step;
  CopyPixels<kChannelCount, kChannelCount>(in, line, count - wide,
                                           out + wide * size_t{kChannelCount});
}

bool Supported() { return true; }

}  // namespace

constexpr WarpKernels kPortableWarpKernels = MakeWarpKernels("portable", Supported);

}  // namespace penstock::augment
