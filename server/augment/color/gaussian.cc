#include "server/augment/color/gaussian.h"

#include <cmath>
#include <cstddef>
#include <iterator>

namespace penstock::augment {
namespace {

constexpr size_t kLanes = 8;
constexpr size_t kTurns = 4;

// e^x as Sleef computes it (u10, with fused multiply-add): x = q · ln 2 + r, with ln 2 in two
// parts, then a polynomial in r. **Requires**: x ≤ 0.
float Exp(float x) {
  constexpr float kUpperLn2 = 0.693145751953125f, kLowerLn2 = 1.428606765330187045e-06f;
  constexpr float kPolynomial[] = {0.000198527617612853646278381f, 0.00139304355252534151077271f,
                                   0.00833336077630519866943359f,  0.0416664853692054748535156f,
                                   0.166666671633720397949219f,    0.5f};
  if (x < -104.0f) return 0.0f;
  const float q = std::nearbyint(x * 1.44269504088896340736f);
  const float r = std::fma(q, -kLowerLn2, std::fma(q, -kUpperLn2, x));
  float sum = kPolynomial[0];
  for (size_t i = 1; i < std::size(kPolynomial); ++i) sum = std::fma(sum, r, kPolynomial[i]);
  return std::ldexp(1.0f + std::fma(r * r, sum, r), static_cast<int>(q));
}

// Sums every `stride`-th of `count` values in four turns.
float SumInTurns(const float* values, size_t stride, size_t count) {
  float sums[kTurns] = {};
  const size_t whole = count / kTurns * kTurns;
  for (size_t i = 0; i < whole; ++i) sums[i % kTurns] += values[i * stride];
  for (size_t i = whole; i < count; ++i) sums[0] += values[i * stride];
  for (size_t turn = 1; turn < kTurns; ++turn) sums[0] += sums[turn];
  return sums[0];
}

// Torch adds what is left after whole vectors first, then the lanes.
float Sum(std::span<const float> values) {
  if (values.size() < kLanes) return SumInTurns(values.data(), 1, values.size());
  const size_t vectors = values.size() / kLanes;
  float sum = 0.0f;
  for (size_t i = vectors * kLanes; i < values.size(); ++i) sum += values[i];
  for (size_t lane = 0; lane < kLanes; ++lane) {
    sum += SumInTurns(values.data() + lane, kLanes, vectors);
  }
  return sum;
}

}  // namespace

void GaussianWeights(double sigma, std::span<float> weights) {
  const int middle = static_cast<int>(weights.size()) / 2;
  for (size_t i = 0; i < weights.size(); ++i) {
    const float distance =
        static_cast<float>(static_cast<int>(i) - middle) / static_cast<float>(sigma);
    weights[i] = Exp(-0.5f * (distance * distance));
  }
  const float sum = Sum(weights);
  for (float& weight : weights) weight /= sum;
}

}  // namespace penstock::augment
