// Checks that every finish makes first, on the CPU and on a GPU. Pure.
#pragma once

#include <cstdint>

#include "client/finish/finish.h"

namespace penstock::finish {

absl::Status CheckSizes(const Spec& spec, const Shape& shape, uint64_t rows_bytes,
                        uint64_t into_bytes);
absl::Status CheckCoefficients(const Spec& spec, uint32_t channels);

}  // namespace penstock::finish
