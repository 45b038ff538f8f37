// Selects the kernel for a job.
#include <cuda_runtime.h>

#include "client/finish/launch.h"
#include "client/finish/linear.cuh"
#include "client/finish/tiles.cuh"

namespace penstock::finish {
namespace {

using KernelFunction = void (*)(Job);

template <Type type, Division division>
KernelFunction TilesFor(Layout layout, bool random) {
  using device::Source;
  if (layout == Layout::kNHWC) {
    return random ? device::Tiles<type, division, Layout::kNHWC, Source::kRandom>
                  : device::Tiles<type, division, Layout::kNHWC, Source::kMemory>;
  }
  return random ? device::Tiles<type, division, Layout::kNCHW, Source::kRandom>
                : device::Tiles<type, division, Layout::kNCHW, Source::kMemory>;
}

template <Type type, Division division>
KernelFunction KernelFor(const Job& job, Layout layout) {
  switch (job.choice.kernel) {
    case Kernel::kLinear:
      return device::Linear<type, division>;
    case Kernel::kThreePlanes:
      return device::ThreePlanes<type, division>;
    case Kernel::kTiles:
      return TilesFor<type, division>(layout, job.rows == nullptr);
  }
  return nullptr;
}

template <Type type>
KernelFunction KernelFor(const Job& job, Layout layout, Division division) {
  return division == Division::kByRemainder ? KernelFor<type, Division::kByRemainder>(job, layout)
                                            : KernelFor<type, Division::kExact>(job, layout);
}

KernelFunction KernelFor(const Job& job, Type type, Layout layout, Division division) {
  switch (type) {
    case Type::kUInt8:  // does not divide
      return KernelFor<Type::kUInt8, Division::kByRemainder>(job, layout);
    case Type::kFloat32:
      return KernelFor<Type::kFloat32>(job, layout, division);
    case Type::kFloat16:
      return KernelFor<Type::kFloat16>(job, layout, division);
    case Type::kBFloat16:
      return KernelFor<Type::kBFloat16>(job, layout, division);
  }
  return nullptr;
}

}  // namespace

int Launch(const Job& job, Type type, Layout layout, Division division, void* stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned int>(job.choice.blocks));
  config.blockDim = dim3(job.choice.threads);
  config.stream = static_cast<cudaStream_t>(stream);
  // Returns the launch's own result instead of cudaGetLastError, which may hold an error of other
  // code.
  return cudaLaunchKernelEx(&config, KernelFor(job, type, layout, division), job);
}

}  // namespace penstock::finish
