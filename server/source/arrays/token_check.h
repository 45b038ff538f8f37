// Checks tokens against the size of the vocabulary. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/base/dtype.h"

namespace penstock::source {

// Index of the first token that is negative or not below `vocabulary`; nullopt if all are valid.
// **Requires**: `type` is an integer type. Measured: 13 µs for 1 MiB in the cache with AVX2, a
// tenth of the time to copy it.
std::optional<size_t> FirstBeyond(std::span<const std::byte> tokens, base::DType type,
                                  uint64_t vocabulary);

// The token at index `place`; negative ones stay negative.
int64_t TokenAt(std::span<const std::byte> tokens, base::DType type, size_t place);

}  // namespace penstock::source
