// AVX2: the compiler vectorises the loops; channels are split and joined by shuffles.
#include <immintrin.h>

#include "server/augment/color/kernels.h"
#include "server/augment/color/planes.h"

namespace penstock::augment {
namespace {

bool Supported() { return __builtin_cpu_supports("avx2"); }

constexpr size_t kVectorBytes = 32;

// Shuffles between 48 bytes of 16 pixels, in three registers, and 16 bytes of each channel.
struct Shuffles {
  // [channel][register]: where each pixel's byte is in the register, or 0x80.
  alignas(16) uint8_t split[3][3][16];
  // [register][channel]: which pixel's byte goes to each place, or 0x80.
  alignas(16) uint8_t join[3][3][16];
};

constexpr Shuffles MakeShuffles() {
  Shuffles made = {};
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      for (int i = 0; i < 16; ++i) {
        const int from = 3 * i + a - 16 * b;
        made.split[a][b][i] = static_cast<uint8_t>(from >= 0 && from < 16 ? from : 0x80);
        const int at = 16 * a + i;
        made.join[a][b][i] = static_cast<uint8_t>(at % 3 == b ? at / 3 : 0x80);
      }
    }
  }
  return made;
}

constexpr Shuffles kShuffles = MakeShuffles();

__m128i LoadBytes(const uint8_t* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

void StoreBytes(__m128i bytes, uint8_t* at) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(at), bytes);
}

// The union of three registers' bytes, each shuffled in its own way.
inline __m128i Gather(__m128i a, __m128i b, __m128i c, const uint8_t (*shuffles)[16]) {
  return _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(a, LoadBytes(shuffles[0])),
                                   _mm_shuffle_epi8(b, LoadBytes(shuffles[1]))),
                      _mm_shuffle_epi8(c, LoadBytes(shuffles[2])));
}

void Split(const uint8_t* rgb, Planes* planes) {
  for (size_t i = 0; i < kBlock; i += 16) {
    const __m128i a = LoadBytes(rgb + 3 * i), b = LoadBytes(rgb + 3 * i + 16),
                  c = LoadBytes(rgb + 3 * i + 32);
    StoreBytes(Gather(a, b, c, kShuffles.split[0]), planes->red + i);
    StoreBytes(Gather(a, b, c, kShuffles.split[1]), planes->green + i);
    StoreBytes(Gather(a, b, c, kShuffles.split[2]), planes->blue + i);
  }
}

void Join(const Planes& planes, uint8_t* rgb) {
  for (size_t i = 0; i < kBlock; i += 16) {
    const __m128i red = LoadBytes(planes.red + i), green = LoadBytes(planes.green + i),
                  blue = LoadBytes(planes.blue + i);
    StoreBytes(Gather(red, green, blue, kShuffles.join[0]), rgb + 3 * i);
    StoreBytes(Gather(red, green, blue, kShuffles.join[1]), rgb + 3 * i + 16);
    StoreBytes(Gather(red, green, blue, kShuffles.join[2]), rgb + 3 * i + 32);
  }
}

// A table of 256 values for shuffles, which look up 16 at a time. Each sixteenth of a half contains
// the differences (by exclusive or) to that before.
class ShuffledTable {
 public:
  explicit ShuffledTable(const uint8_t* values) {
    for (int i = 0; i < 256; ++i) {
      steps_[i / 16][i % 16] =
          static_cast<uint8_t>(values[i] ^ (i % 128 < 16 ? 0 : values[i - 16]));
    }
  }

  __m256i operator[](__m256i bytes) const {
    const __m256i low = Half(bytes, 0);
    const __m256i high = Half(_mm256_xor_si256(bytes, _mm256_set1_epi8(-128)), 8);
    return _mm256_blendv_epi8(low, high, bytes);
  }

 private:
  // For bytes up to 127. Bytes that have become negative don't reach the rest of the steps, because
  // a shuffle gives zero for them.
  __m256i Half(__m256i bytes, int first) const {
    __m256i found = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int step = first; step < first + 8; ++step) {
      const __m256i part = _mm256_broadcastsi128_si256(LoadBytes(steps_[step]));
      found = _mm256_xor_si256(found, _mm256_shuffle_epi8(part, bytes));
      bytes = _mm256_sub_epi8(bytes, _mm256_set1_epi8(16));
    }
    return found;
  }

  alignas(16) uint8_t steps_[16][16];
};

void LookUpPlane(uint8_t* plane, const ShuffledTable& table) {
  for (size_t i = 0; i < kBlock; i += 32) {
    __m256i* at = reinterpret_cast<__m256i*>(plane + i);
    _mm256_store_si256(at, table[_mm256_load_si256(at)]);
  }
}

void LookUp(uint8_t* rgb, size_t pixels, const uint8_t (*tables)[256]) {
  const ShuffledTable red(tables[0]), green(tables[1]), blue(tables[2]);
  Planes planes;
  for (; pixels >= kBlock; pixels -= kBlock, rgb += 3 * kBlock) {
    Split(rgb, &planes);
    LookUpPlane(planes.red, red);
    LookUpPlane(planes.green, green);
    LookUpPlane(planes.blue, blue);
    Join(planes, rgb);
  }
  for (size_t i = 0; i < 3 * pixels; ++i) rgb[i] = tables[i % 3][rgb[i]];
}

}  // namespace
}  // namespace penstock::augment

#define PENSTOCK_COLOR_KERNELS kAvx2ColorKernels
#define PENSTOCK_COLOR_KERNELS_NAME "avx2"
#include "server/augment/color/kernels_body.h"
