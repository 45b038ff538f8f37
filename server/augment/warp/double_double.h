// Numbers of about 104 bits: the sum of two doubles, of which the second is at most half a unit in
// the last place of the first. (Dekker, "A floating-point technique for extending the available
// precision", 1971; Knuth's two-sum.) Private to this folder.
//
// **Requires** IEEE doubles that round after each operation (-ffp-contract=off), and values far
// from overflow.
#pragma once

namespace penstock::augment {

struct DoubleDouble {
  double high = 0;
  double low = 0;
};

namespace double_double {

// |a| ≥ |b| or a = 0.
inline DoubleDouble QuickSum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

inline DoubleDouble Sum(double a, double b) {
  const double sum = a + b;
  const double rest = sum - a;
  return {sum, (a - (sum - rest)) + (b - rest)};
}

inline DoubleDouble Split(double a) {
  const double scaled = a * 134217729.0;  // 2²⁷ + 1
  const double high = scaled - (scaled - a);
  return {high, a - high};
}

inline DoubleDouble Product(double a, double b) {
  const double product = a * b;
  const DoubleDouble x = Split(a), y = Split(b);
  const double error =
      ((x.high * y.high - product) + x.high * y.low + x.low * y.high) + x.low * y.low;
  return {product, error};
}

}  // namespace double_double

inline DoubleDouble operator-(DoubleDouble a) { return {-a.high, -a.low}; }

inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  DoubleDouble sum = double_double::Sum(a.high, b.high);
  const DoubleDouble rest = double_double::Sum(a.low, b.low);
  sum = double_double::QuickSum(sum.high, sum.low + rest.high);
  return double_double::QuickSum(sum.high, sum.low + rest.low);
}

inline DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + -b; }

inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble product = double_double::Product(a.high, b.high);
  return double_double::QuickSum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

inline DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
  const double first = a.high / b.high;
  DoubleDouble rest = a - b * DoubleDouble{first};
  const double second = rest.high / b.high;
  rest = rest - b * DoubleDouble{second};
  const double third = rest.high / b.high;
  return double_double::QuickSum(first, second) + DoubleDouble{third};
}

}  // namespace penstock::augment
