// The weights of a Gaussian blur, to the bit those that torchvision 0.14 with torch 1.13 (Debian
// 12) computes on a CPU with AVX2. Pure.
//
// Floats in the order of torch: exp is Sleef's Sleef_expf8_u10, and the sum is that of torch's
// kernel for eight lanes.
#pragma once

#include <span>

namespace penstock::augment {

inline constexpr int kMaxBlurSize = 127;

// Writes the weights of one axis. **Requires**: weights.size() is odd and at most kMaxBlurSize;
// sigma > 0.
void GaussianWeights(double sigma, std::span<float> weights);

}  // namespace penstock::augment
