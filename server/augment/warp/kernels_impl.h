// The kernels' code. Each kernels_*.cc includes it once and compiles it for its instruction set,
// so everything is in an unnamed namespace and uses no inline function of another header.
//
// Arithmetic: Pillow's (Geometry.c), in double. A position outside of the image gives the fill
// colour; within it, taps beyond the edge repeat the edge. A position that is not a number (a
// perspective's 0/0) gives 0, or the fill colour for the nearest pixel.
#pragma once

#include <string.h>

#include "server/augment/warp/filters_impl.h"
#include "server/augment/warp/kernels.h"

namespace penstock::augment {
namespace {

constexpr uint32_t kBlock = 256;     // positions at once
constexpr uint32_t kMaxTaps = 4;     // per direction
constexpr size_t kPatchStride = 16;  // bytes of a row of taps
constexpr size_t kPatchBytes = kPatchStride * kMaxTaps;
constexpr size_t kSlack = 4;  // pixels are written as four bytes

// Positions in the input of some neighbouring output pixels.
struct Positions {
  double x[kBlock];
  double y[kBlock];
};

struct AffineMap {
  static void Fill(const double* a, uint32_t first, uint32_t row, uint32_t count,
                   Positions& positions) {
    const double a0 = a[0], a2 = a[2], a3 = a[3], a5 = a[5];
    const double yin = row + 0.5;
    const double from_y_to_x = a[1] * yin, from_y_to_y = a[4] * yin;
    for (uint32_t i = 0; i < count; ++i) {
      const double xin = static_cast<int32_t>(first + i) + 0.5;
      positions.x[i] = a0 * xin + from_y_to_x + a2;
      positions.y[i] = a3 * xin + from_y_to_y + a5;
    }
  }
};

struct PerspectiveMap {
  static void Fill(const double* a, uint32_t first, uint32_t row, uint32_t count,
                   Positions& positions) {
    const double a0 = a[0], a2 = a[2], a3 = a[3], a5 = a[5], a6 = a[6];
    const double yin = row + 0.5;
    const double y_to_x = a[1] * yin, y_to_y = a[4] * yin, y_to_d = a[7] * yin;
    for (uint32_t i = 0; i < count; ++i) {
      const double xin = static_cast<int32_t>(first + i) + 0.5;
      const double divisor = a6 * xin + y_to_d + 1;
      positions.x[i] = (a0 * xin + y_to_x + a2) / divisor;
      positions.y[i] = (a3 * xin + y_to_y + a5) / divisor;
    }
  }
};

// Requires a value that fits.
inline int32_t Floor(double value) {
  const int32_t cut = static_cast<int32_t>(value);
  return cut - (value < cut ? 1 : 0);
}

inline int32_t Clip(int32_t value, int32_t size) {
  return value < 0 ? 0 : value < size ? value : size - 1;
}

inline bool Outside(const ConstImageView& in, double x, double y) {
  return x < 0 || x >= in.width || y < 0 || y >= in.height;
}

// Copies the taps, repeating the edge's where they are outside.
template <int kTaps>
inline void CopyTaps(const ConstImageView& in, int32_t left, int32_t top, uint8_t* patch) {
  const size_t channels = in.channels;
  for (int row = 0; row < kTaps; ++row) {
    const uint8_t* const from =
        in.data + in.width * channels * Clip(top + row, static_cast<int32_t>(in.height));
    for (int column = 0; column < kTaps; ++column) {
      const size_t at = channels * Clip(left + column, static_cast<int32_t>(in.width));
      for (size_t c = 0; c < channels; ++c) {
        patch[kPatchStride * row + channels * column + c] = from[at + c];
      }
    }
  }
}

// Writes one pixel (as four bytes) for a position near the edge or outside.
template <typename Filter, int kChannelCount>
inline void SampleAnywhere(const WarpJob& job, double x, double y, uint8_t* out) {
  const ConstImageView& in = job.in;
  if (Outside(in, x, y)) {
    memcpy(out, job.fill.values, kChannelCount);
    return;
  }
  if (x != x || y != y) {
    memset(out, 0, kChannelCount);
    return;
  }
  x -= 0.5;
  y -= 0.5;
  const int32_t column = Floor(x), row = Floor(y);
  constexpr int kBefore = Filter::kTaps / 2 - 1;
  uint8_t patch[kPatchBytes + kSlack] = {};
  CopyTaps<Filter::kTaps>(in, column - kBefore, row - kBefore, patch);
  if constexpr (kChannelCount == 3) {
    Filter::Apply(patch, kPatchStride, x - column, y - row, out);
  } else {
    const FourTaps taps = {{patch, patch, patch, patch}};
    StorePixel(Filter::Apply(taps, kPatchStride, Doubles{} + (x - column), Doubles{} + (y - row)),
               out);
  }
}

// Positions (less one half) for which a filter finds all taps, and one pixel more at their right.
struct Interior {
  double left, top, right, bottom;

  bool Has(double x, double y) const { return x >= left && x < right && y >= top && y < bottom; }
  bool HasAll(Doubles x, Doubles y) const {
    return All((x >= left) & (x < right) & (y >= top) & (y < bottom));
  }
};

template <typename Filter>
inline Interior InteriorFor(const ConstImageView& in) {
  constexpr int kBefore = Filter::kTaps / 2 - 1;
  constexpr int kAfter = Filter::kTaps / 2;
  return {kBefore, kBefore, static_cast<double>(in.width) - kAfter - 1,
          static_cast<double>(in.height) - kAfter};
}

template <typename Filter>
inline void SampleColours(const WarpJob& job, const Interior& interior, const Positions& positions,
                          uint32_t count, uint8_t* out) {
  constexpr int kBefore = Filter::kTaps / 2 - 1;
  const uint8_t* const data = job.in.data;
  const size_t stride = size_t{job.in.width} * 3;
  for (uint32_t i = 0; i < count; ++i, out += 3) {
    const double x = positions.x[i] - 0.5, y = positions.y[i] - 0.5;
    if (__builtin_expect(!interior.Has(x, y), 0)) {
      SampleAnywhere<Filter, 3>(job, positions.x[i], positions.y[i], out);
      continue;
    }
    const int32_t column = static_cast<int32_t>(x), row = static_cast<int32_t>(y);
    const size_t at = stride * static_cast<uint32_t>(row - kBefore) +
                      size_t{3} * static_cast<uint32_t>(column - kBefore);
    Filter::Apply(data + at, stride, x - column, y - row, out);
  }
}

// Four pixels at once where all four are in the interior.
template <typename Filter>
inline void SampleGray(const WarpJob& job, const Interior& interior, const Positions& positions,
                       uint32_t count, uint8_t* out) {
  constexpr int kBefore = Filter::kTaps / 2 - 1;
  const size_t stride = job.in.width;
  const uint8_t* const data = job.in.data;
  uint32_t i = 0;
  for (; i + 4 <= count; i += 4) {
    Doubles x, y;
    memcpy(&x, positions.x + i, sizeof(x));
    memcpy(&y, positions.y + i, sizeof(y));
    x -= 0.5;
    y -= 0.5;
    if (__builtin_expect(!interior.HasAll(x, y), 0)) {
      for (uint32_t k = i; k < i + 4; ++k) {
        SampleAnywhere<Filter, 1>(job, positions.x[k], positions.y[k], out + k);
      }
      continue;
    }
    const Ints column = ToInts(x), row = ToInts(y);
    FourTaps taps;
    for (int k = 0; k < 4; ++k) {
      taps.at[k] = data + stride * static_cast<uint32_t>(row[k] - kBefore) +
                   static_cast<uint32_t>(column[k] - kBefore);
    }
    StorePixel(Filter::Apply(taps, stride, x - ToDoubles(column), y - ToDoubles(row)), out + i);
  }
  for (; i < count; ++i) SampleAnywhere<Filter, 1>(job, positions.x[i], positions.y[i], out + i);
}

template <int kChannelCount>
inline void NearestBlock(const WarpJob& job, const Positions& positions, uint32_t count,
                         uint8_t* out) {
  const size_t stride = size_t{job.in.width} * kChannelCount;
  const double width = job.in.width, height = job.in.height;
  for (uint32_t i = 0; i < count; ++i, out += kChannelCount) {
    const double x = positions.x[i], y = positions.y[i];
    const uint8_t* from = job.fill.values;
    if (x >= 0 && x < width && y >= 0 && y < height) {
      from = job.in.data + stride * static_cast<uint32_t>(y) +
             size_t{kChannelCount} * static_cast<uint32_t>(x);
    }
    memcpy(out, from, kChannelCount);
  }
}

// Calls block(positions, row, first, count) for all output pixels, row by row.
template <typename Map, int kChannelCount, typename Block>
inline void ForEachBlock(const WarpJob& job, Block block) {
  Positions positions;
  uint8_t pixels[kBlock * kChannelCount + kSlack];
  for (uint32_t row = 0; row < job.out.height; ++row) {
    uint8_t* out = job.out.data + size_t{job.out.width} * kChannelCount * row;
    for (uint32_t first = 0; first < job.out.width; first += kBlock) {
      const uint32_t left = job.out.width - first;
      const uint32_t count = left < kBlock ? left : kBlock;
      Map::Fill(job.coefficients, first, row, count, positions);
      block(positions, count, pixels);
      memcpy(out + size_t{first} * kChannelCount, pixels, size_t{count} * kChannelCount);
    }
  }
}

template <typename Map, typename Filter, int kChannelCount>
void Interpolate(const WarpJob& job) {
  const Interior interior = InteriorFor<Filter>(job.in);
  ForEachBlock<Map, kChannelCount>(job,
                                   [&](const Positions& positions, uint32_t count, uint8_t* out) {
                                     if constexpr (kChannelCount == 3) {
                                       SampleColours<Filter>(job, interior, positions, count, out);
                                     } else {
                                       SampleGray<Filter>(job, interior, positions, count, out);
                                     }
                                   });
}

template <typename Map, int kChannelCount>
void Nearest(const WarpJob& job) {
  ForEachBlock<Map, kChannelCount>(job,
                                   [&](const Positions& positions, uint32_t count, uint8_t* out) {
                                     NearestBlock<kChannelCount>(job, positions, count, out);
                                   });
}

// Also defined by the including file.
template <int kChannelCount>
void Reverse(const uint8_t* row, uint8_t* out, uint32_t width);
template <int kChannelCount>
void CopyLine(const ConstImageView& in, FixedLine line, uint32_t count, uint8_t* out);

// Copies kBytes for each pixel, of which the last ones are overwritten by the next pixel's.
template <int kChannelCount, int kBytes>
inline void CopyPixels(const ConstImageView& in, FixedLine line, uint32_t count, uint8_t* out) {
  const uint8_t* const data = in.data;
  const size_t stride = size_t{in.width} * kChannelCount;
  for (uint32_t i = 0; i < count; ++i, out += kChannelCount) {
    const size_t row = stride * static_cast<uint32_t>(line.y >> kFixedBits);
    memcpy(out, data + row + static_cast<uint32_t>(line.x >> kFixedBits) * size_t{kChannelCount},
           kBytes);
    line.x += line.x_step;
    line.y += line.y_step;
  }
}

template <typename Map>
constexpr WarpFunction kWarps[base::kInterpolations][2] = {
    {Nearest<Map, 1>, Nearest<Map, 3>},
    {nullptr, nullptr},
    {Interpolate<Map, Bilinear<1>, 1>, Interpolate<Map, Bilinear<3>, 3>},
    {Interpolate<Map, Bicubic<1>, 1>, Interpolate<Map, Bicubic<3>, 3>},
};

constexpr WarpKernels MakeWarpKernels(const char* name, bool (*supported)()) {
  using A = AffineMap;
  using P = PerspectiveMap;
  return {name,
          supported,
          {{kWarps<A>[0][0], kWarps<A>[0][1]},
           {kWarps<A>[1][0], kWarps<A>[1][1]},
           {kWarps<A>[2][0], kWarps<A>[2][1]},
           {kWarps<A>[3][0], kWarps<A>[3][1]}},
          {{kWarps<P>[0][0], kWarps<P>[0][1]},
           {kWarps<P>[1][0], kWarps<P>[1][1]},
           {kWarps<P>[2][0], kWarps<P>[2][1]},
           {kWarps<P>[3][0], kWarps<P>[3][1]}},
          {Reverse<1>, Reverse<3>},
          {CopyLine<1>, CopyLine<3>}};
}

}  // namespace
}  // namespace penstock::augment
