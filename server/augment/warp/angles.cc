#include "server/augment/warp/angles.h"

#include <cmath>

#include "server/augment/warp/double_double.h"

namespace penstock::augment {
namespace {

// π/2 is the sum of these, to 160 bits.
constexpr double kHalfPi[3] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54,
                               -0x1.f1976b7ed8fbcp-110};

// How many factors of a Taylor series make its rest less than 2⁻¹⁰⁶ for |x| ≤ π/4.
constexpr int kFactors = 14;

// An angle's distance from the nearest quarter turn, |rest| ≤ π/4, and that quarter, modulo 4.
struct Reduced {
  DoubleDouble rest;
  int quarter;
};

Reduced Reduce(double radians) {
  const double quarters = std::nearbyint(radians / kHalfPi[0]);
  DoubleDouble rest = {radians};
  for (const double part : kHalfPi) rest = rest - double_double::Product(quarters, part);
  return {rest, static_cast<int>(quarters) & 3};
}

// 1 − x²/(n(n+1)) · (1 − x²/((n+2)(n+3)) · (…)), with n = `first`.
DoubleDouble Series(DoubleDouble square, int first) {
  const DoubleDouble one = {1.0};
  DoubleDouble sum = one;
  for (int i = kFactors - 1; i >= 0; --i) {
    const double n = first + 2 * i;
    sum = one - square * sum / DoubleDouble{n * (n + 1)};
  }
  return sum;
}

struct SineAndCosine {
  DoubleDouble sine, cosine;
};

SineAndCosine Compute(double radians) {
  const Reduced reduced = Reduce(radians);
  const DoubleDouble x = reduced.rest, square = x * x;
  const DoubleDouble sine = x * Series(square, 2), cosine = Series(square, 1);
  switch (reduced.quarter) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

}  // namespace

double Sine(double radians) { return Compute(radians).sine.high; }
double Cosine(double radians) { return Compute(radians).cosine.high; }

double Tangent(double radians) {
  const SineAndCosine parts = Compute(radians);
  return (parts.sine / parts.cosine).high;
}

// One Newton step: atan(v) = a + atan((v − tan a) / (1 + v tan a)). The C library's result is close
// enough for the last arctangent to be its argument.
double Arctangent(double value) {
  const double near = std::atan(value);
  const SineAndCosine parts = Compute(near);
  const DoubleDouble v = {value}, tangent = parts.sine / parts.cosine;
  return (DoubleDouble{near} + (v - tangent) / (DoubleDouble{1.0} + v * tangent)).high;
}

}  // namespace penstock::augment
