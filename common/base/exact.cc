// Compiled without fused multiply-add.
#include "common/base/exact.h"

#include <algorithm>
#include <cmath>

namespace penstock::base {
namespace {

constexpr double kLogOfTwo = 0.6931471805599453;
constexpr double kSqrtOfHalf = 0.7071067811865476;

}  // namespace

// value = fraction · 2^exponent, and log(fraction) = 2 · (s + s³/3 + s⁵/5 + …).
double Log(double value) {
  int exponent = 0;
  double fraction = std::frexp(value, &exponent);
  if (fraction < kSqrtOfHalf) fraction = fraction + fraction, --exponent;
  const double s = (fraction - 1.0) / (fraction + 1.0);
  const double square = s * s;
  double sum = 0.0;
  for (int k = 23; k > 0; k -= 2) sum = sum * square + 1.0 / k;
  return exponent * kLogOfTwo + (s + s) * sum;
}

// power = n · log(2) + rest, and exp(rest) = 1 + rest · (1 + rest/2 · (1 + rest/3 · …)).
double Exp(double power) {
  power = std::min(std::max(power, -700.0), 700.0);
  const double n = std::nearbyint(power / kLogOfTwo);
  const double rest = power - n * kLogOfTwo;
  double sum = 1.0;
  for (int k = 18; k > 0; --k) sum = 1.0 + sum * rest / k;
  return std::ldexp(sum, static_cast<int>(n));
}

double PowerOf(double base, uint32_t word) {
  double power = 1.0;
  for (int bit = 31; bit >= 0; --bit) {
    base = std::sqrt(base);
    if ((word >> bit) & 1) power *= base;
  }
  return power;
}

[[gnu::noinline]] double RoundToFloat(double value) { return static_cast<float>(value); }

}  // namespace penstock::base
