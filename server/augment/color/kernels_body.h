// The kernels themselves, which each kernel file includes once, after it has defined Supported,
// kVectorBytes, Split, Join and LookUp for its instruction set. The loops are simple enough for the
// compiler to vectorise.
#include <string.h>

namespace penstock::augment {
namespace {

// Runs `change` over blocks of pixels. The rest is padded with black ones.
template <typename Change>
inline void ForEachBlock(uint8_t* rgb, size_t pixels, Change change) {
  Planes planes;
  for (; pixels >= kBlock; pixels -= kBlock, rgb += 3 * kBlock) {
    Split(rgb, &planes);
    change(planes);
    Join(planes, rgb);
  }
  if (pixels == 0) return;
  uint8_t rest[3 * kBlock] = {};
  memcpy(rest, rgb, 3 * pixels);
  Split(rest, &planes);
  change(planes);
  Join(planes, rest);
  memcpy(rgb, rest, 3 * pixels);
}

void InvertBytes(uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(~bytes[i]);
}

void MaskBytes(uint8_t* bytes, size_t count, uint8_t mask) {
  for (size_t i = 0; i < count; ++i) bytes[i] &= mask;
}

void SolarizeBytes(uint8_t* bytes, size_t count, int threshold) {
  if (threshold > 255) return;
  const uint8_t first = static_cast<uint8_t>(threshold);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t value = bytes[i];
    bytes[i] = value >= first ? static_cast<uint8_t>(~value) : value;
  }
}

// Pillow's ImagingBlend (src/libImaging/Blend.c): floats, clipped, then truncated. If the factor is
// between 0 and 1, Pillow doesn't clip, but the result lies between both values anyway.
inline uint8_t Blend(int base, int value, float factor) {
  float blended = static_cast<float>(base) + factor * static_cast<float>(value - base);
  blended = blended > 0.0f ? blended : 0.0f;
  blended = blended < 255.0f ? blended : 255.0f;
  return static_cast<uint8_t>(static_cast<int>(blended));
}

void BlendBytes(uint8_t* bytes, size_t count, uint8_t base, float factor) {
  for (size_t i = 0; i < count; ++i) bytes[i] = Blend(base, bytes[i], factor);
}

// Pillow's L24 (src/libImaging/Convert.c).
inline uint8_t Luma(uint32_t red, uint32_t green, uint32_t blue) {
  return static_cast<uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

void Saturate(uint8_t* rgb, size_t pixels, float factor) {
  ForEachBlock(rgb, pixels, [factor](Planes& p) {
    for (size_t i = 0; i < kBlock; ++i) {
      const uint8_t red = p.red[i], green = p.green[i], blue = p.blue[i];
      const uint8_t luma = Luma(red, green, blue);
      p.red[i] = Blend(luma, red, factor);
      p.green[i] = Blend(luma, green, factor);
      p.blue[i] = Blend(luma, blue, factor);
    }
  });
}

void MakeGray(uint8_t* rgb, size_t pixels) {
  ForEachBlock(rgb, pixels, [](Planes& p) {
    for (size_t i = 0; i < kBlock; ++i) p.red[i] = Luma(p.red[i], p.green[i], p.blue[i]);
    memcpy(p.green, p.red, kBlock);
    memcpy(p.blue, p.red, kBlock);
  });
}

// Over a whole block, padding included: black pixels add nothing.
inline uint32_t SumBlock(const uint8_t* rgb) {
  Planes planes;
  Split(rgb, &planes);
  uint32_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    sum += Luma(planes.red[i], planes.green[i], planes.blue[i]);
  }
  return sum;
}

uint64_t SumLuma(const uint8_t* rgb, size_t pixels) {
  uint64_t sum = 0;
  for (; pixels >= kBlock; pixels -= kBlock, rgb += 3 * kBlock) sum += SumBlock(rgb);
  if (pixels == 0) return sum;
  uint8_t rest[3 * kBlock] = {};
  memcpy(rest, rgb, 3 * pixels);
  return sum + SumBlock(rest);
}

// Vectors of one register each, which the compiler doesn't have to find: the conditions below are
// too many for it.
typedef int32_t Ints __attribute__((vector_size(kVectorBytes)));
typedef float Floats __attribute__((vector_size(kVectorBytes)));
constexpr size_t kHueLanes = kVectorBytes / sizeof(float);

inline Ints Max(Ints a, Ints b) { return a > b ? a : b; }
inline Ints Min(Ints a, Ints b) { return a < b ? a : b; }
inline Floats ToFloats(Ints values) { return __builtin_convertvector(values, Floats); }
inline Ints Truncated(Floats values) { return __builtin_convertvector(values, Ints); }

struct Colors {
  Ints red, green, blue;
};

// Hue, saturation and value as Pillow computes them.
struct Hsv {
  Ints hue, saturation, value;
};

// Pillow's rgb2hsv_row (src/libImaging/Convert.c) uses floats and doubles. Floats alone give the
// same integers for all 2²⁴ colours, if the sum of hue and fraction is rounded once: of the
// fractions that Pillow adds and subtracts, the one of the lowest channel is 1. Gray pixels are no
// exception if the divisors are at least 1.
inline Hsv ToHsv(const Colors& c) {
  const Ints one = Ints{} + 1;
  const Ints most = Max(c.red, Max(c.green, c.blue)), least = Min(c.red, Min(c.green, c.blue));
  const Ints middle = c.red + c.green + c.blue - most - least;
  const Floats fraction = ToFloats(most - middle) / ToFloats(Max(most - least, one));
  const Ints is_red = c.red == most, is_green = c.green == most;
  const Ints first = is_red ? Ints{} : is_green ? one * 2 : one * 4;
  const Ints next = is_red ? c.blue : is_green ? c.red : c.green;
  const Floats base = ToFloats(next == least ? first + 1 : first - 1);
  const Floats turn = (next == least ? base - fraction : base + fraction) / 6.0f;
  const Floats hue = turn < 0.0f ? turn + 1.0f : turn;
  const Floats saturation = ToFloats(most - least) / ToFloats(Max(most, one));
  return {Truncated(hue * 255.0f), Truncated(saturation * 255.0f), most};
}

// Rounds to the nearest integer. **Requires**: values ≥ 0.
inline Ints Nearest(Floats values) { return Truncated(values + 0.5f); }

// Pillow's hsv2rgb uses doubles; floats give the same for all 2²⁴ triples.
inline Colors ToColors(const Hsv& hsv) {
  const Ints sixth = (hsv.hue * (6 * 257) + 257) >> 16;  // ⌊6 · hue / 255⌋: 0 … 6
  const Floats within = ToFloats(hsv.hue * 6 - sixth * 255) / 255.0f;
  const Floats saturation = ToFloats(hsv.saturation) / 255.0f;
  const Floats value = ToFloats(hsv.value);
  const Ints p = Nearest(value * (1.0f - saturation));
  const Ints q = Nearest(value * (1.0f - saturation * within));
  const Ints t = Nearest(value * (1.0f - saturation * (1.0f - within)));
  const Ints v = hsv.value;
  const Ints in0 = (sixth == 0) | (sixth == 6), in1 = sixth == 1, in2 = sixth == 2,
             in3 = sixth == 3, in4 = sixth == 4, in5 = sixth == 5;
  return {in1           ? q
          : in4         ? t
          : (in2 | in3) ? p
                        : v,
          in0           ? t
          : in3         ? q
          : (in1 | in2) ? v
                        : p,
          in2           ? t
          : in5         ? q
          : (in3 | in4) ? v
                        : p};
}

void ShiftHue(uint8_t* rgb, size_t pixels, uint8_t shift) {
  ForEachBlock(rgb, pixels, [shift](Planes& p) {
    alignas(64) int32_t red[kBlock], green[kBlock], blue[kBlock];
    for (size_t i = 0; i < kBlock; ++i) {
      red[i] = p.red[i];
      green[i] = p.green[i];
      blue[i] = p.blue[i];
    }
    for (size_t i = 0; i < kBlock; i += kHueLanes) {
      Colors colors;
      memcpy(&colors.red, red + i, kVectorBytes);
      memcpy(&colors.green, green + i, kVectorBytes);
      memcpy(&colors.blue, blue + i, kVectorBytes);
      Hsv hsv = ToHsv(colors);
      hsv.hue = (hsv.hue + shift) & 255;
      colors = ToColors(hsv);
      memcpy(red + i, &colors.red, kVectorBytes);
      memcpy(green + i, &colors.green, kVectorBytes);
      memcpy(blue + i, &colors.blue, kVectorBytes);
    }
    for (size_t i = 0; i < kBlock; ++i) {
      p.red[i] = static_cast<uint8_t>(red[i]);
      p.green[i] = static_cast<uint8_t>(green[i]);
      p.blue[i] = static_cast<uint8_t>(blue[i]);
    }
  });
}

// Pillow's ImageFilter.SMOOTH sums floats, with weights of 1/13 and 5/13, adds one half and
// truncates. Sums never lie near an integer, since (2 · sum + 13) / 26 is none, so this is the
// same.
inline int Smooth(int sum) { return ((sum + 6) * 5042) >> 16; }  // ⌊(sum + 6) / 13⌋ to 13 · 255

void SharpenRow(const SharpenJob& job) {
  const size_t c = job.channels, end = job.bytes - c;
  const uint8_t* above = job.above;
  const uint8_t* row = job.row;
  const uint8_t* below = job.below;
  uint8_t* __restrict out = job.out;
  const float factor = job.factor;
  for (size_t i = c; i < end; ++i) {
    const int sum = above[i - c] + above[i] + above[i + c] + row[i - c] + 5 * row[i] + row[i + c] +
                    below[i - c] + below[i] + below[i + c];
    out[i] = Blend(Smooth(sum), row[i], factor);
  }
}

}  // namespace

const ColorKernels PENSTOCK_COLOR_KERNELS = {PENSTOCK_COLOR_KERNELS_NAME,
                                             &Supported,
                                             &InvertBytes,
                                             &MaskBytes,
                                             &SolarizeBytes,
                                             &BlendBytes,
                                             &Saturate,
                                             &MakeGray,
                                             &SumLuma,
                                             &ShiftHue,
                                             &LookUp,
                                             &SharpenRow};

}  // namespace penstock::augment
