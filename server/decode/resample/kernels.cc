// Selects the kernels for this CPU.
#include "server/decode/resample/kernels.h"

#include <algorithm>
#include <iterator>

#include "server/decode/resample/resampler.h"

namespace penstock::decode {
namespace {

// Fastest first.
constexpr const Kernels* kAll[] = {
#if defined(PENSTOCK_DECODE_X86)
    &kAvx512VnniKernels,
    &kAvx2Kernels,
#endif
    &kPortableKernels,
};

}  // namespace

std::span<const Kernels* const> AllKernels() { return kAll; }

const Kernels& BestKernels() {
  return **std::find_if(std::begin(kAll), std::end(kAll),
                        [](const Kernels* kernels) { return kernels->supported(); });
}

}  // namespace penstock::decode
