// Plain C++ for any machine. Without an instruction for it, a fused multiply-add is a call.
#include "server/augment/color/blur_kernels.h"

namespace penstock::augment {
namespace {

bool BlurSupported() { return true; }

constexpr size_t kVectorBytes = 16;

}  // namespace
}  // namespace penstock::augment

#define PENSTOCK_BLUR_KERNELS kPortableBlurKernels
#define PENSTOCK_BLUR_KERNELS_NAME "portable"
#include "server/augment/color/blur_kernels_body.h"
