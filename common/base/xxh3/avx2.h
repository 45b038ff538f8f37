// XXH3 compiled for AVX2: twice as fast with 100 KB.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::base {

// **Requires**: the processor has AVX2.
uint64_t HashAvx2(const void* bytes, size_t count);

}  // namespace penstock::base
