// AVX2, FMA and F16C. In a build for other machines, HasAvx2 is false.
//
// Division is the slow part. x / d is computed as q = x·(1/d), then corrected by the remainder
// fma(−d, q, x), which rounds correctly for nearly every divisor. There are only 256 values, so all
// of them are tried first; a divisor that fails uses the CPU's division instruction.
#include "client/finish/kernels.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

#include <cpuid.h>
#include <immintrin.h>

#include <cstring>
#include <vector>

namespace penstock::finish {
namespace {

constexpr size_t kLanes = 8;
constexpr size_t kMaxPeriod = 16;

enum class Division { kByRemainder, kByCpu };

// Streamed stores pass by the caches: they need no read of the line that they replace, and push
// nothing out that is needed sooner.
enum class Stores { kCached, kStreamed };

// The coefficients of 8 · period consecutive elements.
struct Pattern {
  size_t period = 1;
  Division division = Division::kByRemainder;
  alignas(32) float mean[kLanes * kMaxPeriod];
  alignas(32) float stddev[kLanes * kMaxPeriod];
  alignas(32) float inverse[kLanes * kMaxPeriod];
};

struct Vectors {
  __m256 mean, stddev, inverse;
};

Vectors At(const Pattern& pattern, size_t k) {
  return {_mm256_load_ps(pattern.mean + k * kLanes), _mm256_load_ps(pattern.stddev + k * kLanes),
          _mm256_load_ps(pattern.inverse + k * kLanes)};
}

__m256 DivideByRemainder(__m256 x, __m256 divisor, __m256 inverse) {
  const __m256 quotient = _mm256_mul_ps(x, inverse);
  const __m256 remainder = _mm256_fnmadd_ps(divisor, quotient, x);
  return _mm256_fmadd_ps(remainder, inverse, quotient);
}

template <Division division>
__m256 Normalise(__m256 x, const Vectors& v) {
  const __m256 scale = _mm256_set1_ps(255.0f);
  if constexpr (division == Division::kByCpu) {
    return _mm256_div_ps(_mm256_sub_ps(_mm256_div_ps(x, scale), v.mean), v.stddev);
  } else {
    const __m256 unit = DivideByRemainder(x, scale, _mm256_set1_ps(1.0f / 255.0f));
    return DivideByRemainder(_mm256_sub_ps(unit, v.mean), v.stddev, v.inverse);
  }
}

// Whether both ways of dividing give the same bits for all values of one channel.
bool RemainderIsExact(float mean, float stddev) {
  const Vectors v = {_mm256_set1_ps(mean), _mm256_set1_ps(stddev), _mm256_set1_ps(1.0f / stddev)};
  __m256i different = _mm256_setzero_si256();
  for (int base = 0; base < 256; base += 8) {
    const __m256 x = _mm256_cvtepi32_ps(
        _mm256_add_epi32(_mm256_set1_epi32(base), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
    const __m256i quick = _mm256_castps_si256(Normalise<Division::kByRemainder>(x, v));
    const __m256i exact = _mm256_castps_si256(Normalise<Division::kByCpu>(x, v));
    different = _mm256_or_si256(different, _mm256_xor_si256(quick, exact));
  }
  return _mm256_testz_si256(different, different) != 0;
}

Pattern MakePattern(const Coefficients& coefficients) {
  Pattern pattern;
  pattern.period = coefficients.mean.size();
  for (size_t c = 0; c < pattern.period; ++c) {
    if (!RemainderIsExact(coefficients.mean[c], coefficients.stddev[c])) {
      pattern.division = Division::kByCpu;
    }
  }
  for (size_t i = 0; i < kLanes * pattern.period; ++i) {
    const size_t c = i % pattern.period;
    pattern.mean[i] = coefficients.mean[c];
    pattern.stddev[i] = coefficients.stddev[c];
    pattern.inverse[i] = 1.0f / coefficients.stddev[c];
  }
  return pattern;
}

template <Type type>
constexpr size_t kBytes = type == Type::kFloat32 ? 4 : 2;

// Streamed stores need an address that is a multiple of 16, as those of large allocations are.
constexpr size_t kStreamAlignment = 16;

template <Stores stores>
void StoreHalves(__m128i halves, std::byte* out) {
  auto* const to = reinterpret_cast<__m128i*>(out);
  if constexpr (stores == Stores::kStreamed) {
    _mm_stream_si128(to, halves);
  } else {
    _mm_storeu_si128(to, halves);
  }
}

template <Stores stores>
void StoreFloats(__m256 x, std::byte* out) {
  auto* const to = reinterpret_cast<float*>(out);
  if constexpr (stores == Stores::kStreamed) {
    _mm_stream_ps(to, _mm256_castps256_ps128(x));
    _mm_stream_ps(to + 4, _mm256_extractf128_ps(x, 1));
  } else {
    _mm256_storeu_ps(to, x);
  }
}

template <Type type, Stores stores = Stores::kCached>
void Store(__m256 x, std::byte* out) {
  if constexpr (type == Type::kFloat32) {
    StoreFloats<stores>(x, out);
  } else {
    __m128i half;
    if constexpr (type == Type::kFloat16) {
      half = _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    } else {
      const __m256i bits = _mm256_castps_si256(x);
      const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
      const __m256i rounded = _mm256_srli_epi32(
          _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF))), 16);
      half =
          _mm_packus_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1));
    }
    StoreHalves<stores>(half, out);
  }
}

template <Type type, Division division, Stores stores>
void EightValues(const uint8_t* values, const Vectors& v, std::byte* out) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(values));
  Store<type, stores>(Normalise<division>(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)), v), out);
}

// `period` is the pattern's period if it is a usual one, so that the compiler knows it; 0: any.
template <Type type, Division division, Stores stores, size_t period>
void WholeBlocks(const Pattern& pattern, const uint8_t* values, size_t blocks, std::byte* out) {
  constexpr size_t kStep = kLanes * kBytes<type>;
  if constexpr (period == 0) {
    for (size_t i = 0; i < blocks * pattern.period; ++i) {
      EightValues<type, division, stores>(values + i * kLanes, At(pattern, i % pattern.period),
                                          out + i * kStep);
    }
  } else {
    Vectors vectors[period];
    for (size_t k = 0; k < period; ++k) vectors[k] = At(pattern, k);
    for (size_t i = 0; i < blocks; ++i) {
      for (size_t k = 0; k < period; ++k) {
        EightValues<type, division, stores>(values, vectors[k], out);
        values += kLanes;
        out += kStep;
      }
    }
  }
}

template <Type type, Division division, Stores stores>
void Blocks(const Pattern& pattern, const uint8_t* values, size_t blocks, std::byte* out) {
  if (pattern.period == 1)
    return WholeBlocks<type, division, stores, 1>(pattern, values, blocks, out);
  if (pattern.period == 3)
    return WholeBlocks<type, division, stores, 3>(pattern, values, blocks, out);
  WholeBlocks<type, division, stores, 0>(pattern, values, blocks, out);
}

// Converts whole blocks in place, and the rest through a block of its own.
template <Type type, Division division>
void ConvertAs(const Pattern& pattern, const uint8_t* values, size_t count, Stores stores,
               std::byte* out) {
  const size_t block = kLanes * pattern.period;
  const size_t blocks = count / block;
  if (stores == Stores::kStreamed) {
    Blocks<type, division, Stores::kStreamed>(pattern, values, blocks, out);
  } else {
    Blocks<type, division, Stores::kCached>(pattern, values, blocks, out);
  }
  const size_t done = blocks * block;
  if (done == count) return;

  uint8_t last[kLanes * kMaxPeriod] = {};
  std::byte finished[kLanes * kMaxPeriod * kBytes<type>];
  std::memcpy(last, values + done, count - done);
  Blocks<type, division, Stores::kCached>(pattern, last, 1, finished);
  std::memcpy(out + done * kBytes<type>, finished, (count - done) * kBytes<type>);
}

template <Type type>
class VectorConverter final : public Converter {
 public:
  VectorConverter(std::span<const Coefficients> parts, Stores stores) : stores_(stores) {
    for (const Coefficients& part : parts) patterns_.push_back(MakePattern(part));
  }
  // Streamed stores are in no order with others until here.
  ~VectorConverter() override { _mm_sfence(); }

  void Convert(size_t part, const uint8_t* values, size_t count, std::byte* out) const override {
    const Pattern& pattern = patterns_[part];
    const bool aligned = reinterpret_cast<uintptr_t>(out) % kStreamAlignment == 0;
    const Stores stores = aligned ? stores_ : Stores::kCached;
    if (pattern.division == Division::kByRemainder) {
      ConvertAs<type, Division::kByRemainder>(pattern, values, count, stores, out);
    } else {
      ConvertAs<type, Division::kByCpu>(pattern, values, count, stores, out);
    }
  }

 private:
  Stores stores_;
  std::vector<Pattern> patterns_;
};

// Outputs of at least this size are out of most caches before anybody reads them.
constexpr size_t kStreamedBytes = size_t{16} << 20;

std::unique_ptr<Converter> Prepare(Type type, std::span<const Coefficients> parts,
                                   size_t output_bytes) {
  const Stores stores = output_bytes < kStreamedBytes ? Stores::kCached : Stores::kStreamed;
  switch (type) {
    case Type::kFloat32:
      return std::make_unique<VectorConverter<Type::kFloat32>>(parts, stores);
    case Type::kFloat16:
      return std::make_unique<VectorConverter<Type::kFloat16>>(parts, stores);
    case Type::kBFloat16:
      return std::make_unique<VectorConverter<Type::kBFloat16>>(parts, stores);
    case Type::kUInt8:
      break;
  }
  return nullptr;
}

// A shuffle mask: which bytes of the `part`-th 16 of 48 belong to one channel, at their places in
// its plane; −1 selects none.
__m128i PickThird(int channel, int part) {
  alignas(16) int8_t pick[16];
  for (int i = 0; i < 16; ++i) {
    const int at = 3 * i + channel - 16 * part;
    pick[i] = static_cast<int8_t>(at >= 0 && at < 16 ? at : -1);
  }
  return _mm_load_si128(reinterpret_cast<const __m128i*>(pick));
}

size_t SplitThree(const uint8_t* pixels, size_t count, uint8_t* const* planes) {
  __m128i pick[3][3];
  for (int c = 0; c < 3; ++c) {
    for (int part = 0; part < 3; ++part) pick[c][part] = PickThird(c, part);
  }
  size_t done = 0;
  for (; count - done >= 16; done += 16) {
    const auto* from = reinterpret_cast<const __m128i*>(pixels + 3 * done);
    const __m128i parts[3] = {_mm_loadu_si128(from), _mm_loadu_si128(from + 1),
                              _mm_loadu_si128(from + 2)};
    for (int c = 0; c < 3; ++c) {
      const __m128i plane = _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(parts[0], pick[c][0]),
                                                      _mm_shuffle_epi8(parts[1], pick[c][1])),
                                         _mm_shuffle_epi8(parts[2], pick[c][2]));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(planes[c] + done), plane);
    }
  }
  return done;
}

void Split(const uint8_t* pixels, size_t count, uint32_t channels, uint8_t* const* planes) {
  const size_t done = channels == 3 ? SplitThree(pixels, count, planes) : 0;
  for (uint32_t c = 0; c < channels; ++c) {
    for (size_t i = done; i < count; ++i) planes[c][i] = pixels[i * channels + c];
  }
}

// Returns how many elements it blended: all but less than a vector.
template <Type type>
size_t BlendWhole(const float* a, float factor_a, const float* b, float factor_b, size_t count,
                  std::byte* out) {
  const __m256 of_a = _mm256_set1_ps(factor_a), of_b = _mm256_set1_ps(factor_b);
  const size_t whole = count / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    const __m256 from_a = _mm256_mul_ps(_mm256_loadu_ps(a + i), of_a);
    const __m256 from_b = _mm256_mul_ps(_mm256_loadu_ps(b + i), of_b);
    Store<type>(_mm256_add_ps(from_a, from_b), out + i * kBytes<type>);
  }
  return whole;
}

void Blend(const float* a, float factor_a, const float* b, float factor_b, size_t count, Type type,
           std::byte* out) {
  const bool wide = type == Type::kFloat32;
  const auto blend = wide                     ? &BlendWhole<Type::kFloat32>
                     : type == Type::kFloat16 ? &BlendWhole<Type::kFloat16>
                                              : &BlendWhole<Type::kBFloat16>;
  const size_t done = blend(a, factor_a, b, factor_b, count, out);
  kPortableKernels.blend(a + done, factor_a, b + done, factor_b, count - done, type,
                         out + done * (wide ? 4 : 2));
}

}  // namespace

bool HasAvx2() {
  // clang 14 does not know "f16c" here, so cpuid is asked directly.
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
}

const Kernels kAvx2Kernels = {Split, Prepare, Blend};

}  // namespace penstock::finish

#else

namespace penstock::finish {

bool HasAvx2() { return false; }

const Kernels kAvx2Kernels = kPortableKernels;

}  // namespace penstock::finish

#endif
