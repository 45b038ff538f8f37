#include "server/augment/warp/transform.h"

#include "common/base/check.h"
#include "server/augment/warp/kernels.h"
#include "server/augment/warp/nearest.h"

namespace penstock::augment {

void Affine(const ConstImageView& in, const ImageView& out, const AffineMatrix& matrix,
            const Sampler& sampler, Scratch& scratch) {
  PENSTOCK_CHECK(CanSample(sampler.sampling));
  if (sampler.sampling == Sampling::kNearest) {
    return AffineNearest(in, out, matrix, sampler.fill, scratch);
  }
  const auto& functions = BestWarpKernels().affine[static_cast<int>(sampler.sampling)];
  functions[KernelIndex(in.channels)]({in, out, matrix.a, sampler.fill});
}

void Perspective(const ConstImageView& in, const ImageView& out,
                 const PerspectiveCoefficients& coefficients, const Sampler& sampler) {
  PENSTOCK_CHECK(CanSample(sampler.sampling));
  const auto& functions = BestWarpKernels().perspective[static_cast<int>(sampler.sampling)];
  functions[KernelIndex(in.channels)]({in, out, coefficients.c, sampler.fill});
}

}  // namespace penstock::augment
