// Mathematics whose result is the same on every machine and in every language: sums, products,
// quotients and square roots of doubles in a fixed order, each of which IEEE 754 rounds in exactly
// one way. The C library's log, exp and pow differ between machines in the last bit.
// server/plan/README.md has the same functions in Python.
#pragma once

#include <cstdint>

namespace penstock::base {

// A number in [0, 1): a multiple of 2⁻³².
constexpr double UnitOf(uint32_t word) { return word / 4294967296.0; }

// A number in (0, 1): an odd multiple of 2⁻³³.
constexpr double OpenUnitOf(uint32_t word) { return (word + 0.5) / 4294967296.0; }

// An integer in [0, choices).
constexpr uint32_t BelowOf(uint32_t word, uint32_t choices) {
  return static_cast<uint32_t>((uint64_t{word} * choices) >> 32);
}

// The natural logarithm, to a few units in the last place. **Requires** a positive, finite value.
double Log(double value);

// e to this power, to a relative error below 10⁻¹³. Powers beyond ±700 count as ±700.
double Exp(double power);

// base^(word / 2³²): the product of base^(1/2), base^(1/4), … for the bits set in `word`.
double PowerOf(double base, uint32_t word);

// The float nearest to `value`. A call, because g++ 12 forgets to round where it vectorises two
// conversions to float and back.
double RoundToFloat(double value);

}  // namespace penstock::base
