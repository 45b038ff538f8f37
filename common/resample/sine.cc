// Sines of multiples of 1/32 are in a table, to 100 bits; the angle-sum formula adds the rest. Only
// sums, products and quotients in a fixed order, without fused multiply-add.
#include "common/resample/sine.h"

#include <array>

namespace penstock::resample {
namespace {

constexpr double kSteps = 32;    // per unit of x
constexpr int kAngles = 303;     // 0 … 3π
constexpr double kSmall = 0.25;  // below: a polynomial, whose relative error is smaller

// The sum of two doubles, of which the second is at most half a unit in the first's last place.
struct DoublePair {
  double high = 0;
  double low = 0;
};

constexpr DoublePair ExactSum(double a, double b) {
  const double sum = a + b;
  const double of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

// The upper half of the bits.
constexpr double UpperBits(double a) {
  const double shifted = 134217729.0 * a;  // 2²⁷ + 1
  return shifted - (shifted - a);
}

constexpr DoublePair ExactProduct(double a, double b) {
  const double product = a * b;
  const double a1 = UpperBits(a), b1 = UpperBits(b);
  const double a2 = a - a1, b2 = b - b1;
  return {product, a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)};
}

constexpr DoublePair operator+(DoublePair a, DoublePair b) {
  const DoublePair sum = ExactSum(a.high, b.high);
  return ExactSum(sum.high, sum.low + (a.low + b.low));
}

constexpr DoublePair operator-(DoublePair a) { return {-a.high, -a.low}; }

constexpr DoublePair operator*(DoublePair a, DoublePair b) {
  const DoublePair product = ExactProduct(a.high, b.high);
  return ExactSum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

constexpr DoublePair operator/(DoublePair a, double b) {
  const double quotient = a.high / b;
  const DoublePair product = ExactProduct(quotient, b);
  return ExactSum(quotient, ((a.high - product.high) - product.low + a.low) / b);
}

struct SineAndCosine {
  DoublePair sine;
  DoublePair cosine = {1, 0};
};

// Of one step, by its series.
constexpr SineAndCosine OfOneStep() {
  SineAndCosine sums;
  DoublePair term = {1, 0};
  for (int power = 1; power <= 18; ++power) {
    term = term * DoublePair{1 / kSteps, 0} / power;
    const DoublePair signed_term = power % 4 < 2 ? term : -term;
    DoublePair& sum = power % 2 == 1 ? sums.sine : sums.cosine;
    sum = sum + signed_term;
  }
  return sums;
}

constexpr std::array<SineAndCosine, kAngles> MakeAngles() {
  const SineAndCosine step = OfOneStep();
  std::array<SineAndCosine, kAngles> angles;
  for (int i = 1; i < kAngles; ++i) {
    const SineAndCosine& last = angles[i - 1];
    angles[i].sine = last.sine * step.cosine + last.cosine * step.sine;
    angles[i].cosine = last.cosine * step.cosine + -(last.sine * step.sine);
  }
  return angles;
}

constexpr std::array<SineAndCosine, kAngles> kTable = MakeAngles();

// x - x³/3! + …; `square` is x².
double SmallSine(double x, double square) {
  const double upper = 1.0 / 362880 - square * (1.0 / 39916800);
  const double middle = 1.0 / 120 - square * (1.0 / 5040 - square * upper);
  return x - x * square * (1.0 / 6 - square * middle);
}

// cos(x) - 1.
double SmallCosineLessOne(double square) {
  return -square * (0.5 - square * (1.0 / 24 - square * (1.0 / 720)));
}

}  // namespace

double Sine(double x) {
  if (x < kSmall) return SmallSine(x, x * x);
  const int step = static_cast<int>(x * kSteps + 0.5);
  const double rest = x - step / kSteps;  // exact
  const double square = rest * rest;
  const SineAndCosine& angle = kTable[step];
  return angle.sine.high + (angle.cosine.high * SmallSine(rest, square) +
                            (angle.sine.high * SmallCosineLessOne(square) + angle.sine.low));
}

}  // namespace penstock::resample
