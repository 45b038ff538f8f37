// A sine that has the same bits on every machine, which the C library's doesn't: its last bit
// depends on the library and the CPU. Pure.
#pragma once

namespace penstock::resample {

// **Requires**: 0 ≤ x ≤ 3π. The error is below 0.7 units in the last place, or 2⁻⁵⁸ near π, 2π and
// 3π.
double Sine(double x);

}  // namespace penstock::resample
