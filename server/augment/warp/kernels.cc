// Selects the kernels for this CPU.
#include "server/augment/warp/kernels.h"

#include <algorithm>
#include <iterator>

namespace penstock::augment {
namespace {

constexpr const WarpKernels* kAllWarpKernels[] = {
#if defined(PENSTOCK_AUGMENT_WARP_X86)
    &kAvx2WarpKernels,
#endif
    &kPortableWarpKernels,
};

}  // namespace

std::span<const WarpKernels* const> AllWarpKernels() { return kAllWarpKernels; }

const WarpKernels& BestWarpKernels() {
  return **std::find_if(std::begin(kAllWarpKernels), std::end(kAllWarpKernels),
                        [](const WarpKernels* kernels) { return kernels->supported(); });
}

}  // namespace penstock::augment
