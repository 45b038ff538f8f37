// AVX2 with fused multiply-add.
#include "server/augment/color/blur_kernels.h"

namespace penstock::augment {
namespace {

bool BlurSupported() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

constexpr size_t kVectorBytes = 32;

}  // namespace
}  // namespace penstock::augment

#define PENSTOCK_BLUR_KERNELS kAvx2BlurKernels
#define PENSTOCK_BLUR_KERNELS_NAME "avx2"
#include "server/augment/color/blur_kernels_body.h"
