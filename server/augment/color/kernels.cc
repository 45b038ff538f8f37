// Selects the kernels for this CPU.
#include "server/augment/color/kernels.h"

#include <algorithm>
#include <span>

#include "server/augment/color/all_kernels.h"
#include "server/augment/color/blur_kernels.h"

namespace penstock::augment {
namespace {

constexpr const ColorKernels* kAllColorKernels[] = {
#if defined(PENSTOCK_AUGMENT_X86)
    &kAvx512ColorKernels,
    &kAvx2ColorKernels,
#endif
    &kPortableColorKernels,
};

constexpr const BlurKernels* kAllBlurKernels[] = {
#if defined(PENSTOCK_AUGMENT_X86)
    &kAvx512BlurKernels,
    &kAvx2BlurKernels,
#endif
    &kPortableBlurKernels,
};

template <typename Kernels>
const Kernels& FirstSupported(std::span<const Kernels* const> all) {
  return **std::find_if(all.begin(), all.end(),
                        [](const Kernels* kernels) { return kernels->supported(); });
}

}  // namespace

std::span<const ColorKernels* const> AllColorKernels() { return kAllColorKernels; }

std::span<const BlurKernels* const> AllBlurKernels() { return kAllBlurKernels; }

const ColorKernels& BestColorKernels() {
  static const ColorKernels& best = FirstSupported(AllColorKernels());
  return best;
}

const BlurKernels& BestBlurKernels() {
  static const BlurKernels& best = FirstSupported(AllBlurKernels());
  return best;
}

}  // namespace penstock::augment
