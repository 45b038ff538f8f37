// AVX-512 VNNI: multiplies four taps at once with vpdpbusd, which multiplies unsigned by signed
// bytes. A weight (less than 127 · 2¹⁶, of either sign) is split into b0 + b1 · 2⁸ + b2 · 2¹⁶ with
// signed bytes; the three sums are combined at the end. The instruction wraps around instead of
// saturating, so the total is exact.
#include <immintrin.h>

#include "server/decode/resample/kernels.h"

namespace penstock::decode {
namespace {

constexpr int kShift = 22;
constexpr int kTapsPerGroup = 4;
constexpr int kWordsPerGroup = 3;

bool Supported() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
}

// Packs four weights: their lowest bytes into one word, their middle and highest bytes into the
// next two.
void Pack(const int32_t* weights, int32_t* packed) {
  uint32_t words[kWordsPerGroup] = {};
  for (int tap = 0; tap < kTapsPerGroup; ++tap) {
    int32_t rest = weights[tap];
    for (int byte = 0; byte < kWordsPerGroup; ++byte) {
      const int8_t part = static_cast<int8_t>(rest);
      words[byte] |= uint32_t{static_cast<uint8_t>(part)} << (8 * tap);
      rest = (rest - part) / 256;
    }
  }
  for (int byte = 0; byte < kWordsPerGroup; ++byte)
    packed[byte] = static_cast<int32_t>(words[byte]);
}

// Three sums, one per byte of the weights; `low` starts at one half for rounding.
struct Sums {
  __m512i low = _mm512_set1_epi32(1 << (kShift - 1));
  __m512i middle = _mm512_setzero_si512();
  __m512i high = _mm512_setzero_si512();

  void Add(__m512i bytes, const int32_t* weights) {
    low = _mm512_dpbusd_epi32(low, bytes, _mm512_set1_epi32(weights[0]));
    middle = _mm512_dpbusd_epi32(middle, bytes, _mm512_set1_epi32(weights[1]));
    high = _mm512_dpbusd_epi32(high, bytes, _mm512_set1_epi32(weights[2]));
  }
  __m512i Round() const {
    const __m512i upper = _mm512_add_epi32(_mm512_slli_epi32(high, 8), middle);
    return _mm512_srai_epi32(_mm512_add_epi32(low, _mm512_slli_epi32(upper, 8)), kShift);
  }
};

__m128i Load16(const uint8_t* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }

// Loads four RGBX pixels of each of four rows, rearranged to RRRR GGGG BBBB XXXX.
__m512i LoadPixels(const uint8_t* const* rows, size_t at) {
  __m512i pixels = _mm512_castsi128_si512(Load16(rows[0] + at));
  pixels = _mm512_inserti32x4(pixels, Load16(rows[1] + at), 1);
  pixels = _mm512_inserti32x4(pixels, Load16(rows[2] + at), 2);
  pixels = _mm512_inserti32x4(pixels, Load16(rows[3] + at), 3);
  const __m128i turn = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_shuffle_epi8(pixels, _mm512_broadcast_i32x4(turn));
}

template <int kGroups>
inline __m512i SumPixel(const HorizontalJob& job, uint32_t first, const int32_t* weights) {
  const int groups = kGroups > 0 ? kGroups : job.groups;
  Sums sums;
#pragma GCC unroll 4
  for (int group = 0; group < groups; ++group) {
    sums.Add(LoadPixels(job.rows, first + size_t{16} * group), weights + kWordsPerGroup * group);
  }
  return sums.Round();
}

inline void StorePixels(__m512i bytes, uint8_t* const* out, size_t at) {
  const __m128i keep = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  const __m512i rgb = _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(keep));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out[0] + at), _mm512_castsi512_si128(rgb));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out[1] + at), _mm512_extracti32x4_epi32(rgb, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out[2] + at), _mm512_extracti32x4_epi32(rgb, 2));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out[3] + at), _mm512_extracti32x4_epi32(rgb, 3));
}

inline __m512i PackBytes(__m512i p0, __m512i p1, __m512i p2, __m512i p3) {
  return _mm512_packus_epi16(_mm512_packs_epi32(p0, p1), _mm512_packs_epi32(p2, p3));
}

template <int kGroups>
void HorizontalOf(const HorizontalJob& job) {
  const size_t words = size_t{kWordsPerGroup} * (kGroups > 0 ? kGroups : job.groups);
  const int32_t* weights = job.weights;
  for (int i = 0; i < job.outputs; i += 4, weights += 4 * words) {
    const __m512i p0 = SumPixel<kGroups>(job, job.first[i], weights);
    const __m512i p1 = SumPixel<kGroups>(job, job.first[i + 1], weights + words);
    const __m512i p2 = SumPixel<kGroups>(job, job.first[i + 2], weights + 2 * words);
    const __m512i p3 = SumPixel<kGroups>(job, job.first[i + 3], weights + 3 * words);
    StorePixels(PackBytes(p0, p1, p2, p3), job.out, size_t{3} * i);
  }
}

void Horizontal(const HorizontalJob& job) {
  switch (job.groups) {
    case 1:
      return HorizontalOf<1>(job);
    case 2:
      return HorizontalOf<2>(job);
    case 3:
      return HorizontalOf<3>(job);
    case 4:
      return HorizontalOf<4>(job);
    default:
      return HorizontalOf<0>(job);
  }
}

// Handles 64 columns, of which those in `mask` are read.
template <int kGroups>
inline __m512i SumColumns(const VerticalJob& job, size_t at, __mmask64 mask) {
  const int groups = kGroups > 0 ? kGroups : job.groups;
  Sums s0, s1, s2, s3;
#pragma GCC unroll 4
  for (int group = 0; group < groups; ++group) {
    const uint8_t* const* rows = job.rows + kTapsPerGroup * group;
    const int32_t* weights = job.weights + kWordsPerGroup * group;
    const __m512i a = _mm512_maskz_loadu_epi8(mask, rows[0] + at);
    const __m512i b = _mm512_maskz_loadu_epi8(mask, rows[1] + at);
    const __m512i c = _mm512_maskz_loadu_epi8(mask, rows[2] + at);
    const __m512i d = _mm512_maskz_loadu_epi8(mask, rows[3] + at);
    const __m512i ab0 = _mm512_unpacklo_epi8(a, b), ab1 = _mm512_unpackhi_epi8(a, b);
    const __m512i cd0 = _mm512_unpacklo_epi8(c, d), cd1 = _mm512_unpackhi_epi8(c, d);
    s0.Add(_mm512_unpacklo_epi16(ab0, cd0), weights);
    s1.Add(_mm512_unpackhi_epi16(ab0, cd0), weights);
    s2.Add(_mm512_unpacklo_epi16(ab1, cd1), weights);
    s3.Add(_mm512_unpackhi_epi16(ab1, cd1), weights);
  }
  return PackBytes(s0.Round(), s1.Round(), s2.Round(), s3.Round());
}

template <int kGroups>
void VerticalOf(const VerticalJob& job) {
  for (size_t at = 0; at < job.bytes; at += 64) {
    const size_t left = job.bytes - at;
    const __mmask64 mask = left >= 64 ? ~uint64_t{0} : (uint64_t{1} << left) - 1;
    _mm512_mask_storeu_epi8(job.out + at, mask, SumColumns<kGroups>(job, at, mask));
  }
}

void Vertical(const VerticalJob& job) {
  switch (job.groups) {
    case 1:
      return VerticalOf<1>(job);
    case 2:
      return VerticalOf<2>(job);
    case 3:
      return VerticalOf<3>(job);
    case 4:
      return VerticalOf<4>(job);
    default:
      return VerticalOf<0>(job);
  }
}

}  // namespace

const Kernels kAvx512VnniKernels = {"avx512vnni", &Supported,  kTapsPerGroup, kWordsPerGroup,
                                    &Pack,        &Horizontal, &Vertical};

}  // namespace penstock::decode
