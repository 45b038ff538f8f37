// Compiled without fused multiply-add.
#include "common/base/beta.h"

#include <algorithm>
#include <cmath>

#include "common/base/exact.h"

namespace penstock::base {
namespace {

// A number in (−1, 1), never 0: an odd multiple of 2⁻³².
double SignedUnit(uint32_t word) { return (2.0 * word + 1.0) / 4294967296.0 - 1.0; }

// One attempt at a Gamma(d + 1/3) variate d · v, by a normal variate from Marsaglia's polar method.
// Returns v, or 0 if the attempt fails.
double TryGamma(double d, const PhiloxWords& words) {
  const double x = SignedUnit(words[0]), y = SignedUnit(words[1]);
  const double square = x * x + y * y;
  if (square >= 1.0) return 0.0;
  const double normal = x * std::sqrt(-2.0 * Log(square) / square);
  const double root = 1.0 + normal / std::sqrt(9.0 * d);
  if (root <= 0.0) return 0.0;
  const double v = root * root * root;
  const double bound = 0.5 * normal * normal + d - d * v + d * Log(v);
  return Log(OpenUnitOf(words[2])) < bound ? v : 0.0;
}

}  // namespace

// Gamma(shape) = Gamma(shape + 1) · U^(1 / shape). An attempt fails with a probability below 0.26,
// so all 31 fail once in 10¹⁸; then the variate is d.
double DrawLogGamma(double shape, const DrawSource& source, uint32_t first) {
  double boost = 0.0;
  if (shape < 1.0) {
    boost = Log(OpenUnitOf(source.Words(first)[0])) / shape;
    shape = shape + 1.0;
  }
  const double d = shape - 1.0 / 3.0;
  for (uint32_t draw = first + 1; draw < first + kGammaDraws; ++draw) {
    const double v = TryGamma(d, source.Words(draw));
    if (v > 0.0) return Log(d * v) + boost;
  }
  return Log(d) + boost;
}

double DrawBeta(double a, double b, const DrawSource& source, uint32_t first) {
  const double of_a = DrawLogGamma(a, source, first);
  const double of_b = DrawLogGamma(b, source, first + kGammaDraws);
  return 1.0 / (1.0 + Exp(of_b - of_a));
}

void DrawDirichlet(std::span<const double> shapes, const DrawSource& source, uint32_t first,
                   std::span<double> weights) {
  for (size_t i = 0; i < shapes.size(); ++i) {
    weights[i] = DrawLogGamma(shapes[i], source, first + static_cast<uint32_t>(i) * kGammaDraws);
  }
  const double most = shapes.empty() ? 0.0 : *std::max_element(weights.begin(), weights.end());
  double sum = 0.0;
  for (double& weight : weights) {
    weight = Exp(weight - most);
    sum += weight;
  }
  for (double& weight : weights) weight = weight / sum;
}

}  // namespace penstock::base
