// The arithmetic of the kernels' filters, which each kernels_*.cc includes once: see
// kernels_impl.h.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace penstock::augment {
namespace {

using Doubles = double __attribute__((vector_size(32)));
using Ints = int32_t __attribute__((vector_size(16)));
using Mask = int64_t __attribute__((vector_size(32)));  // of Doubles: 0 or -1
using Words = uint32_t __attribute__((vector_size(16)));

// What the including file defines for its instruction set: the four bytes from `pixel` on; the low
// byte of each value; a conversion that is exact; one toward zero; whether no element is 0.
Ints LoadPixel(const uint8_t* pixel);
void StorePixel(Ints values, uint8_t* out);
Doubles ToDoubles(Ints values);
Ints ToInts(Doubles values);
bool All(Mask mask);

// Value: double, or one for each channel.
template <typename Value, typename Distance>
inline Value Cubic(const Value& v1, const Value& v2, const Value& v3, const Value& v4, Distance d) {
  const Value p2 = -v1 + v3;
  const Value p3 = 2 * (v1 - v2) + v3 - v4;
  const Value p4 = -v1 + v2 - v3 + v4;
  return v2 + d * (p2 + d * (p3 + d * p4));
}

// The same with integers, which are exact, up to the first product.
template <typename Distance>
inline Doubles CubicOfInts(Ints v1, Ints v2, Ints v3, Ints v4, Distance d) {
  const Ints right = v3 - v1;
  const Ints p3 = 2 * (v1 - v2) + v3 - v4;
  const Ints p4 = v2 - v1 - v3 + v4;
  return ToDoubles(v2) + d * (ToDoubles(right) + d * (ToDoubles(p3) + d * ToDoubles(p4)));
}

inline Ints Clamp(Ints values) {
  values = values < 0 ? Ints{} : values;
  return values > 255 ? Ints{} + 255 : values;
}

// Where the taps of four gray pixels begin.
struct FourTaps {
  const uint8_t* at[4];
};

// Word: the taps of one row of one pixel.
template <typename Word>
inline Ints LoadEach(const FourTaps& taps, size_t offset) {
  Word words[4];
  for (int i = 0; i < 4; ++i) memcpy(&words[i], taps.at[i] + offset, sizeof(Word));
  return reinterpret_cast<Ints>(Words{words[0], words[1], words[2], words[3]});
}

template <typename Word, int kIndex>
inline Ints Tap(Ints words) {
  constexpr int kPlace =
      __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(Word) - 1 - kIndex : kIndex;
  return reinterpret_cast<Ints>(reinterpret_cast<Words>(words) >> 8 * kPlace & 255);
}

// A filter reads kTaps × kTaps pixels from `taps` on, whose rows are `stride` bytes apart; dx and
// dy are the distances from the second-last tap at the left and above. Those of RGB read one byte
// more and write four; those of gray compute four pixels.
template <int kChannelCount>
struct Bilinear;
template <int kChannelCount>
struct Bicubic;

template <>
struct Bilinear<3> {
  static constexpr int kTaps = 2;
  static void Apply(const uint8_t* taps, size_t stride, double dx, double dy, uint8_t* out) {
    const Doubles top = Row(taps, dx);
    const Doubles bottom = Row(taps + stride, dx);
    StorePixel(ToInts(top + (bottom - top) * dy), out);
  }
  static Doubles Row(const uint8_t* taps, double dx) {
    const Ints left = LoadPixel(taps);
    const Ints right = LoadPixel(taps + 3);
    return ToDoubles(left) + ToDoubles(right - left) * dx;
  }
};

template <>
struct Bilinear<1> {
  static constexpr int kTaps = 2;
  static Ints Apply(const FourTaps& taps, size_t stride, Doubles dx, Doubles dy) {
    const Doubles top = Row(taps, 0, dx);
    const Doubles bottom = Row(taps, stride, dx);
    return ToInts(top + (bottom - top) * dy);
  }
  static Doubles Row(const FourTaps& taps, size_t row, Doubles dx) {
    const Ints pairs = LoadEach<uint16_t>(taps, row);
    const Ints left = Tap<uint16_t, 0>(pairs);
    return ToDoubles(left) + ToDoubles(Tap<uint16_t, 1>(pairs) - left) * dx;
  }
};

template <>
struct Bicubic<3> {
  static constexpr int kTaps = 4;
  static void Apply(const uint8_t* taps, size_t stride, double dx, double dy, uint8_t* out) {
    const Doubles v = Cubic(Row(taps, dx), Row(taps + stride, dx), Row(taps + 2 * stride, dx),
                            Row(taps + 3 * stride, dx), dy);
    StorePixel(Clamp(ToInts(v)), out);
  }
  static Doubles Row(const uint8_t* taps, double dx) {
    return CubicOfInts(LoadPixel(taps), LoadPixel(taps + 3), LoadPixel(taps + 6),
                       LoadPixel(taps + 9), dx);
  }
};

template <>
struct Bicubic<1> {
  static constexpr int kTaps = 4;
  static Ints Apply(const FourTaps& taps, size_t stride, Doubles dx, Doubles dy) {
    return Clamp(ToInts(Cubic(Row(taps, 0, dx), Row(taps, stride, dx), Row(taps, 2 * stride, dx),
                              Row(taps, 3 * stride, dx), dy)));
  }
  static Doubles Row(const FourTaps& taps, size_t row, Doubles dx) {
    const Ints all = LoadEach<uint32_t>(taps, row);
    return CubicOfInts(Tap<uint32_t, 0>(all), Tap<uint32_t, 1>(all), Tap<uint32_t, 2>(all),
                       Tap<uint32_t, 3>(all), dx);
  }
};

}  // namespace
}  // namespace penstock::augment
