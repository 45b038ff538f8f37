// AVX-512.
#include "server/augment/color/blur_kernels.h"

namespace penstock::augment {
namespace {

bool BlurSupported() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("fma");
}

constexpr size_t kVectorBytes = 64;

}  // namespace
}  // namespace penstock::augment

#define PENSTOCK_BLUR_KERNELS kAvx512BlurKernels
#define PENSTOCK_BLUR_KERNELS_NAME "avx512"
#include "server/augment/color/blur_kernels_body.h"
