#include "common/base/xxh3/avx2.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace penstock::base {

uint64_t HashAvx2(const void* bytes, size_t count) { return XXH3_64bits(bytes, count); }

}  // namespace penstock::base
