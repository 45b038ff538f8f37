// AVX-512 with VBMI, whose permutations of bytes split and join channels and look up values in
// tables of 256; the compiler vectorises the other loops.
#include <immintrin.h>
#include <string.h>

#include "server/augment/color/kernels.h"
#include "server/augment/color/planes.h"

namespace penstock::augment {
namespace {

bool Supported() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vbmi");
}

constexpr size_t kVectorBytes = 64;

// Permutations between 192 bytes of 64 pixels, in three registers, and 64 bytes of each channel.
struct Permutations {
  // [channel]: where each pixel's byte is in the first two registers, and in the third if its bit
  // of `split_mask` is set.
  alignas(64) uint8_t split_two[3][64];
  alignas(64) uint8_t split_third[3][64];
  uint64_t split_mask[3];
  // [register]: which byte of red and green goes to each place, or which of blue if its bit of
  // `join_mask` is set.
  alignas(64) uint8_t join_two[3][64];
  alignas(64) uint8_t join_third[3][64];
  uint64_t join_mask[3];
};

constexpr Permutations MakePermutations() {
  Permutations made = {};
  for (int which = 0; which < 3; ++which) {
    for (int i = 0; i < 64; ++i) {
      const int from = 3 * i + which;
      made.split_two[which][i] = static_cast<uint8_t>(from % 128);
      made.split_third[which][i] = static_cast<uint8_t>(from % 64);
      if (from >= 128) made.split_mask[which] |= uint64_t{1} << i;
      const int at = 64 * which + i;
      made.join_two[which][i] = static_cast<uint8_t>(at / 3 + (at % 3 == 1 ? 64 : 0));
      made.join_third[which][i] = static_cast<uint8_t>(at / 3);
      if (at % 3 == 2) made.join_mask[which] |= uint64_t{1} << i;
    }
  }
  return made;
}

constexpr Permutations kPermutations = MakePermutations();

struct Vectors {
  __m512i a, b, c;
};

inline __m512i Pick(const Vectors& from, const uint8_t* two, const uint8_t* third, uint64_t mask) {
  const __m512i picked = _mm512_permutex2var_epi8(from.a, _mm512_load_si512(two), from.b);
  return _mm512_mask_permutexvar_epi8(picked, mask, _mm512_load_si512(third), from.c);
}

inline Vectors SplitVectors(const Vectors& rgb) {
  const Permutations& p = kPermutations;
  return {Pick(rgb, p.split_two[0], p.split_third[0], p.split_mask[0]),
          Pick(rgb, p.split_two[1], p.split_third[1], p.split_mask[1]),
          Pick(rgb, p.split_two[2], p.split_third[2], p.split_mask[2])};
}

inline Vectors JoinVectors(const Vectors& planes) {
  const Permutations& p = kPermutations;
  return {Pick(planes, p.join_two[0], p.join_third[0], p.join_mask[0]),
          Pick(planes, p.join_two[1], p.join_third[1], p.join_mask[1]),
          Pick(planes, p.join_two[2], p.join_third[2], p.join_mask[2])};
}

inline Vectors LoadVectors(const uint8_t* at) {
  return {_mm512_loadu_si512(at), _mm512_loadu_si512(at + 64), _mm512_loadu_si512(at + 128)};
}

inline void StoreVectors(const Vectors& vectors, uint8_t* at) {
  _mm512_storeu_si512(at, vectors.a);
  _mm512_storeu_si512(at + 64, vectors.b);
  _mm512_storeu_si512(at + 128, vectors.c);
}

void Split(const uint8_t* rgb, Planes* planes) {
  for (size_t i = 0; i < kBlock; i += 64) {
    const Vectors split = SplitVectors(LoadVectors(rgb + 3 * i));
    _mm512_store_si512(planes->red + i, split.a);
    _mm512_store_si512(planes->green + i, split.b);
    _mm512_store_si512(planes->blue + i, split.c);
  }
}

void Join(const Planes& planes, uint8_t* rgb) {
  for (size_t i = 0; i < kBlock; i += 64) {
    const Vectors split = {_mm512_load_si512(planes.red + i), _mm512_load_si512(planes.green + i),
                           _mm512_load_si512(planes.blue + i)};
    StoreVectors(JoinVectors(split), rgb + 3 * i);
  }
}

// A table of 256 bytes in four registers.
struct Table {
  __m512i parts[4];

  explicit Table(const uint8_t* values) {
    for (int part = 0; part < 4; ++part) parts[part] = _mm512_loadu_si512(values + 64 * part);
  }

  __m512i operator[](__m512i bytes) const {
    const __m512i low = _mm512_permutex2var_epi8(parts[0], bytes, parts[1]);
    const __m512i high = _mm512_permutex2var_epi8(parts[2], bytes, parts[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), low, high);
  }
};

void LookUp(uint8_t* rgb, size_t pixels, const uint8_t (*tables)[256]) {
  const Table red(tables[0]), green(tables[1]), blue(tables[2]);
  uint8_t padded[192];
  for (size_t i = 0; i < pixels; i += 64) {
    const size_t left = pixels - i;
    uint8_t* at = rgb + 3 * i;
    if (left < 64) at = static_cast<uint8_t*>(memcpy(padded, at, 3 * left));
    const Vectors split = SplitVectors(LoadVectors(at));
    StoreVectors(JoinVectors({red[split.a], green[split.b], blue[split.c]}), at);
    if (left < 64) memcpy(rgb + 3 * i, padded, 3 * left);
  }
}

}  // namespace
}  // namespace penstock::augment

#define PENSTOCK_COLOR_KERNELS kAvx512ColorKernels
#define PENSTOCK_COLOR_KERNELS_NAME "avx512"
#include "server/augment/color/kernels_body.h"
