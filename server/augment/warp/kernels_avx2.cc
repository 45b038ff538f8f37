// For x86-64 CPUs with AVX2. Compiled without FMA, which would round products differently.
#include <immintrin.h>

#include "server/augment/warp/kernels_impl.h"

namespace penstock::augment {
namespace {

Ints LoadPixel(const uint8_t* pixel) { return (Ints)_mm_cvtepu8_epi32(_mm_loadu_si32(pixel)); }

void StorePixel(Ints values, uint8_t* out) {
  const __m128i low_bytes =
      _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  _mm_storeu_si32(out, _mm_shuffle_epi8((__m128i)values, low_bytes));
}

Doubles ToDoubles(Ints values) { return _mm256_cvtepi32_pd((__m128i)values); }
Ints ToInts(Doubles values) { return (Ints)_mm256_cvttpd_epi32(values); }
bool All(Mask mask) { return _mm256_movemask_pd((Doubles)mask) == 15; }

// Reverses 16 bytes, or five pixels of three bytes, at once, and the rest byte by byte.
template <int kChannelCount>
void Reverse(const uint8_t* row, uint8_t* out, uint32_t width) {
  constexpr uint32_t kAtOnce = 16 / kChannelCount;
  const __m128i order = kChannelCount == 1
                            ? _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
                            : _mm_setr_epi8(13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, -1);
  const uint8_t* from = row + size_t{width} * kChannelCount;
  uint32_t left = width;
  // The 16 bytes that end at `from`; those of RGB begin one byte before the five pixels.
  for (; left > kAtOnce; left -= kAtOnce) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from - 16));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(bytes, order));
    from -= kAtOnce * kChannelCount;
    out += kAtOnce * kChannelCount;
  }
  for (; left > 0; --left, out += kChannelCount) {
    from -= kChannelCount;
    memcpy(out, from, kChannelCount);
  }
}

__m256i Steps(int64_t first, int64_t step) {
  const __m256i indices = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_add_epi32(
      _mm256_set1_epi32(static_cast<int32_t>(first)),
      _mm256_mullo_epi32(indices, _mm256_set1_epi32(static_cast<int32_t>(step))));
}

// Writes the first bytes of eight pixels' words: eight bytes of gray, or 24 of RGB and four more.
template <int kChannelCount>
void StoreEight(__m256i words, uint8_t* out) {
  if constexpr (kChannelCount == 1) {
    const __m256i bytes = _mm256_shuffle_epi8(words, _mm256_set1_epi32(0x0c080400));
    const __m256i both =
        _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(both));
  } else {
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m256i bytes = _mm256_shuffle_epi8(words, order);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(bytes));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 12), _mm256_extracti128_si256(bytes, 1));
  }
}

// Gathers eight pixels at once, as four bytes each.
template <int kChannelCount>
void CopyLine(const ConstImageView& in, FixedLine line, uint32_t count, uint8_t* out) {
  constexpr uint32_t kAtOnce = 8;
  constexpr uint32_t kBehind = 2;  // so that four bytes more lie in the line
  const __m256i stride = _mm256_set1_epi32(static_cast<int32_t>(in.width * kChannelCount));
  const __m256i x_step = _mm256_set1_epi32(static_cast<int32_t>(8 * line.x_step));
  const __m256i y_step = _mm256_set1_epi32(static_cast<int32_t>(8 * line.y_step));
  __m256i x = Steps(line.x, line.x_step), y = Steps(line.y, line.y_step);
  uint32_t done = 0;
  for (; done + kAtOnce + kBehind <= count; done += kAtOnce) {
    const __m256i rows = _mm256_mullo_epi32(_mm256_srli_epi32(y, kFixedBits), stride);
    const __m256i column = _mm256_srli_epi32(x, kFixedBits);
    const __m256i columns =
        kChannelCount == 1 ? column : _mm256_add_epi32(column, _mm256_slli_epi32(column, 1));
    const __m256i words = _mm256_i32gather_epi32(reinterpret_cast<const int*>(in.data),
                                                 _mm256_add_epi32(rows, columns), 1);
    StoreEight<kChannelCount>(words, out + done * size_t{kChannelCount});
    x = _mm256_add_epi32(x, x_step);
    y = _mm256_add_epi32(y, y_step);
  }
  line.x += done * line.x_step;
  line.y += done * line.y_step;
  CopyPixels<kChannelCount, kChannelCount>(in, line, count - done,
                                           out + done * size_t{kChannelCount});
}

bool Supported() { return __builtin_cpu_supports("avx2"); }

}  // namespace

constexpr WarpKernels kAvx2WarpKernels = MakeWarpKernels("avx2", Supported);

}  // namespace penstock::augment
