#include "server/augment/warp/flip.h"

#include <algorithm>
#include <cstring>

#include "server/augment/warp/kernels.h"

namespace penstock::augment {
namespace {

// Columns of `out` at once, so that the rows of `in` that they show stay in the cache.
constexpr uint32_t kColumnsAtOnce = 16;

ReverseFunction ReverseOf(uint32_t channels) {
  return BestWarpKernels().reverse[KernelIndex(channels)];
}

// Row y of `out` shows a column of `in`, upwards or downwards. `first` is the input's pixel for the
// output's (0, 0); the steps are bytes from there to the next pixel of the output's row and column.
struct TurnSteps {
  const uint8_t* first;
  ptrdiff_t along_row, along_column;
  uint32_t last_column;  // the output's row that shows the input's last column
};

// Copies kBytes for each pixel, of which the last ones are overwritten by the next pixel's.
template <int kChannelCount, int kBytes>
inline void CopyColumn(const uint8_t* from, ptrdiff_t step, uint32_t count, uint8_t* to) {
  for (uint32_t i = 0; i < count; ++i, from += step, to += kChannelCount) memcpy(to, from, kBytes);
}

// Moving four bytes of RGB is faster than three. It reads a byte behind the pixel, which there is
// in all columns but the last, and writes one, which the last pixel here may not.
template <int kChannelCount>
void Turn(const ImageView& out, const TurnSteps& steps) {
  const ptrdiff_t step = steps.along_row;
  for (uint32_t left = 0; left < out.width; left += kColumnsAtOnce) {
    const uint32_t count = std::min(kColumnsAtOnce, out.width - left);
    const uint8_t* const from = steps.first + step * ptrdiff_t{left};
    for (uint32_t y = 0; y < out.height; ++y) {
      uint8_t* const to = out.row(y) + size_t{left} * kChannelCount;
      const uint8_t* const column = from + steps.along_column * ptrdiff_t{y};
      const uint32_t wide = kChannelCount == 3 && y != steps.last_column ? count - 1 : 0;
      CopyColumn<kChannelCount, 4>(column, step, wide, to);
      CopyColumn<kChannelCount, kChannelCount>(column + step * ptrdiff_t{wide}, step, count - wide,
                                               to + size_t{wide} * kChannelCount);
    }
  }
}

void TurnWith(const ImageView& out, const TurnSteps& steps) {
  out.channels == 1 ? Turn<1>(out, steps) : Turn<3>(out, steps);
}

}  // namespace

void FlipHorizontal(const ImageView& image, Scratch& scratch) {
  const size_t bytes = image.row_bytes();
  uint8_t* const copy = scratch.Reserve(bytes);
  const ReverseFunction reverse = ReverseOf(image.channels);
  for (uint32_t y = 0; y < image.height; ++y) {
    memcpy(copy, image.row(y), bytes);
    reverse(copy, image.row(y), image.width);
  }
}

void FlipVertical(const ImageView& image, Scratch& scratch) {
  const size_t bytes = image.row_bytes();
  uint8_t* const copy = scratch.Reserve(bytes);
  for (uint32_t top = 0, bottom = image.height - 1; top < bottom; ++top, --bottom) {
    memcpy(copy, image.row(top), bytes);
    memcpy(image.row(top), image.row(bottom), bytes);
    memcpy(image.row(bottom), copy, bytes);
  }
}

void Turn90(const ConstImageView& in, const ImageView& out) {
  const auto stride = static_cast<ptrdiff_t>(in.row_bytes());
  const ptrdiff_t pixel = in.channels;
  TurnWith(out, {in.row(0) + stride - pixel, stride, -pixel, 0});
}

void Turn270(const ConstImageView& in, const ImageView& out) {
  const auto stride = static_cast<ptrdiff_t>(in.row_bytes());
  TurnWith(out,
           {in.row(in.height - 1), -stride, static_cast<ptrdiff_t>(in.channels), in.width - 1});
}

void Turn180(const ConstImageView& in, const ImageView& out) {
  const ReverseFunction reverse = ReverseOf(in.channels);
  for (uint32_t y = 0; y < in.height; ++y) reverse(in.row(y), out.row(in.height - 1 - y), in.width);
}

}  // namespace penstock::augment
