#include "common/base/hash.h"
#include "common/base/xxh3/avx2.h"

namespace penstock::base {

uint64_t HashLarge(std::span<const std::byte> bytes) {
#ifdef PENSTOCK_HASH_AVX2
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (has_avx2) return HashAvx2(bytes.data(), bytes.size());
#endif
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace penstock::base
