#pragma once

#include <cstdint>

namespace penstock::base {

// a / b, rounded up; cannot overflow.
constexpr uint64_t DivideUp(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace penstock::base
