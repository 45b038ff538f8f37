// Gamma, Beta and Dirichlet variates with the same bits on every machine: Marsaglia and Tsang's
// method ("A simple method for generating gamma variables", 2000) over Philox and exact.h.
// server/plan/README.md specifies it in Python. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "common/base/philox.h"

namespace penstock::base {

// Identifies a run of random words: those of draw i are Philox's, keyed by the seed, for the
// counter (sample, epoch mod 2³², operation + i).
struct DrawSource {
  uint64_t seed = 0, epoch = 0, sample = 0;
  uint32_t operation = 0;

  constexpr PhiloxWords Words(uint32_t draw) const {
    return Philox4x32({static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32),
                       static_cast<uint32_t>(epoch), operation + draw},
                      seed);
  }
};

// Limits of a shape, so that nothing overflows.
inline constexpr double kLeastShape = 1e-9, kMostShape = 1e9;

// Draws that one Gamma variate takes up, whether or not it needs them all.
inline constexpr uint32_t kGammaDraws = 32;

// The logarithm of a Gamma(shape, 1) variate, from draws first … first + 31. It is a logarithm
// because variates of small shapes are too small for a double.
double DrawLogGamma(double shape, const DrawSource& source, uint32_t first);

// A Beta(a, b) variate in [0, 1], from draws first … first + 63.
double DrawBeta(double a, double b, const DrawSource& source, uint32_t first);

// A Dirichlet variate, one weight for each shape, from draws first … first + 32 · shapes − 1. The
// weights' sum is 1 but for rounding. **Requires** as many weights as shapes.
void DrawDirichlet(std::span<const double> shapes, const DrawSource& source, uint32_t first,
                   std::span<double> weights);

}  // namespace penstock::base
