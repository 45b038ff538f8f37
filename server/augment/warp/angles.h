// Sine, cosine, tangent and arctangent with the same bits on every machine. Pure.
//
// Results are computed to more than 100 bits and rounded once, so they are the doubles nearest to
// the exact values, except perhaps in one of 2⁴⁵ cases. The C library's differ from them now and
// then in the last bit: glibc 2.36's in one to three of 1,000 cases.
#pragma once

namespace penstock::augment {

// **Requires** |radians| ≤ kMostRadians.
inline constexpr double kMostRadians = 1e4;
double Sine(double radians);
double Cosine(double radians);
double Tangent(double radians);

// In radians. **Requires** |value| ≤ 2²⁰.
double Arctangent(double value);

}  // namespace penstock::augment
