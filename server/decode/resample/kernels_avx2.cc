// AVX2: multiplies pairs of taps with vpmaddwd. A weight (less than 2²³, of either sign) is split
// into lo + hi · 2¹⁵ with 0 ≤ lo < 2¹⁵, so that both parts fit in signed words; the two sums are
// combined at the end.
#include <immintrin.h>
#include <string.h>

#include "server/decode/resample/kernels.h"

namespace penstock::decode {
namespace {

constexpr int kShift = 22;
constexpr int kLowBits = 15;
constexpr int kWordsPerGroup = 2;

bool Supported() { return __builtin_cpu_supports("avx2"); }

// Packs two weights: their low parts into one word, their high parts into the next.
void Pack(const int32_t* weights, int32_t* packed) {
  const int32_t mask = (1 << kLowBits) - 1;
  packed[0] = (weights[0] & mask) | (weights[1] & mask) << 16;
  packed[1] = ((weights[0] >> kLowBits) & 0xFFFF) | (weights[1] >> kLowBits) * (1 << 16);
}

__m256i Half() { return _mm256_set1_epi32(1 << (kShift - 1)); }

// The sum of the low parts includes one half for rounding.
__m256i Round(__m256i low, __m256i high) {
  return _mm256_srai_epi32(_mm256_add_epi32(low, _mm256_slli_epi32(high, kLowBits)), kShift);
}

// Of the four RGBX pixels in each half, converts two to words in the order R R G G B B X X.
__m256i PairOfPixels(__m256i pixels, int pair) {
  const __m128i mask =
      pair == 0 ? _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1)
                : _mm_setr_epi8(8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1);
  return _mm256_shuffle_epi8(pixels, _mm256_broadcastsi128_si256(mask));
}

__m256i LoadTwoRows(const uint8_t* a, const uint8_t* b) {
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

// One output pixel of four rows as 32-bit values, two rows per register.
struct FourRows {
  __m256i ab;
  __m256i cd;
};

// The four rows' pixels. A copy, so that the compiler need not reload the pointers after every
// store.
struct RowPointers {
  const uint8_t* a;
  const uint8_t* b;
  const uint8_t* c;
  const uint8_t* d;
};

// If kGroups is known (few taps), the loop unrolls; 0 uses `any_groups`.
template <int kGroups>
inline FourRows SumPixel(const RowPointers& rows, int any_groups, size_t first,
                         const int32_t* weights) {
  const int groups = kGroups > 0 ? kGroups : any_groups;
  __m256i low_ab = Half(), low_cd = Half();
  __m256i high_ab = _mm256_setzero_si256(), high_cd = _mm256_setzero_si256();
  __m256i ab = _mm256_setzero_si256(), cd = _mm256_setzero_si256();
#pragma GCC unroll 8
  for (int group = 0; group < groups; ++group) {
    const int pair = group & 1;
    if (pair == 0) {
      const size_t at = first + size_t{8} * group;
      ab = LoadTwoRows(rows.a + at, rows.b + at);
      cd = LoadTwoRows(rows.c + at, rows.d + at);
    }
    const __m256i words_ab = PairOfPixels(ab, pair);
    const __m256i words_cd = PairOfPixels(cd, pair);
    const __m256i low = _mm256_set1_epi32(weights[kWordsPerGroup * group]);
    const __m256i high = _mm256_set1_epi32(weights[kWordsPerGroup * group + 1]);
    low_ab = _mm256_add_epi32(low_ab, _mm256_madd_epi16(words_ab, low));
    low_cd = _mm256_add_epi32(low_cd, _mm256_madd_epi16(words_cd, low));
    high_ab = _mm256_add_epi32(high_ab, _mm256_madd_epi16(words_ab, high));
    high_cd = _mm256_add_epi32(high_cd, _mm256_madd_epi16(words_cd, high));
  }
  return {Round(low_ab, high_ab), Round(low_cd, high_cd)};
}

// Writes four pixels of two rows as twelve RGB bytes to each of two outputs (plus four bytes of
// slack).
inline void StorePixels(__m256i p0, __m256i p1, __m256i p2, __m256i p3, uint8_t* a, uint8_t* b) {
  const __m256i bytes = _mm256_packus_epi16(_mm256_packs_epi32(p0, p1), _mm256_packs_epi32(p2, p3));
  const __m256i rgb =
      _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(_mm_setr_epi8(
                                     0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1)));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(a), _mm256_castsi256_si128(rgb));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(b), _mm256_extracti128_si256(rgb, 1));
}

template <int kGroups>
void HorizontalOf(const HorizontalJob& job) {
  const int groups = kGroups > 0 ? kGroups : job.groups;
  const size_t words = size_t{kWordsPerGroup} * groups;
  const RowPointers rows = {job.rows[0], job.rows[1], job.rows[2], job.rows[3]};
  uint8_t* const out[kRowsAtOnce] = {job.out[0], job.out[1], job.out[2], job.out[3]};
  const uint32_t* const first = job.first;
  const int32_t* weights = job.weights;
  const int outputs = job.outputs;
  for (int i = 0; i < outputs; i += 4, weights += 4 * words) {
    const FourRows p0 = SumPixel<kGroups>(rows, groups, first[i], weights);
    const FourRows p1 = SumPixel<kGroups>(rows, groups, first[i + 1], weights + words);
    const FourRows p2 = SumPixel<kGroups>(rows, groups, first[i + 2], weights + 2 * words);
    const FourRows p3 = SumPixel<kGroups>(rows, groups, first[i + 3], weights + 3 * words);
    const size_t at = size_t{3} * i;
    StorePixels(p0.ab, p1.ab, p2.ab, p3.ab, out[0] + at, out[1] + at);
    StorePixels(p0.cd, p1.cd, p2.cd, p3.cd, out[2] + at, out[3] + at);
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

// Handles 32 columns.
template <int kGroups>
inline __m256i SumColumns(const VerticalJob& job, size_t at) {
  const int groups = kGroups > 0 ? kGroups : job.groups;
  const __m256i zero = _mm256_setzero_si256();
  __m256i low0 = Half(), low1 = Half(), low2 = Half(), low3 = Half();
  __m256i high0 = zero, high1 = zero, high2 = zero, high3 = zero;
#pragma GCC unroll 8
  for (int group = 0; group < groups; ++group) {
    const __m256i a =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(job.rows[2 * group] + at));
    const __m256i b =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(job.rows[2 * group + 1] + at));
    const __m256i first = _mm256_unpacklo_epi8(a, b);
    const __m256i second = _mm256_unpackhi_epi8(a, b);
    const __m256i w0 = _mm256_unpacklo_epi8(first, zero), w1 = _mm256_unpackhi_epi8(first, zero);
    const __m256i w2 = _mm256_unpacklo_epi8(second, zero), w3 = _mm256_unpackhi_epi8(second, zero);
    const __m256i low = _mm256_set1_epi32(job.weights[kWordsPerGroup * group]);
    const __m256i high = _mm256_set1_epi32(job.weights[kWordsPerGroup * group + 1]);
    low0 = _mm256_add_epi32(low0, _mm256_madd_epi16(w0, low));
    low1 = _mm256_add_epi32(low1, _mm256_madd_epi16(w1, low));
    low2 = _mm256_add_epi32(low2, _mm256_madd_epi16(w2, low));
    low3 = _mm256_add_epi32(low3, _mm256_madd_epi16(w3, low));
    high0 = _mm256_add_epi32(high0, _mm256_madd_epi16(w0, high));
    high1 = _mm256_add_epi32(high1, _mm256_madd_epi16(w1, high));
    high2 = _mm256_add_epi32(high2, _mm256_madd_epi16(w2, high));
    high3 = _mm256_add_epi32(high3, _mm256_madd_epi16(w3, high));
  }
  return _mm256_packus_epi16(_mm256_packs_epi32(Round(low0, high0), Round(low1, high1)),
                             _mm256_packs_epi32(Round(low2, high2), Round(low3, high3)));
}

template <int kGroups>
void VerticalOf(const VerticalJob& job) {
  size_t at = 0;
  for (; at + 32 <= job.bytes; at += 32) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(job.out + at), SumColumns<kGroups>(job, at));
  }
  if (at == job.bytes) return;
  alignas(32) uint8_t tail[32];
  _mm256_store_si256(reinterpret_cast<__m256i*>(tail), SumColumns<kGroups>(job, at));
  memcpy(job.out + at, tail, job.bytes - at);
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

const Kernels kAvx2Kernels = {"avx2", &Supported, 2, kWordsPerGroup, &Pack, &Horizontal, &Vertical};

}  // namespace penstock::decode
