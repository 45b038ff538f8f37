// Selects the kernel for a job with effects.
#include <cuda_runtime.h>

#include "client/finish/effects/launch.h"
#include "client/finish/effects/planes.cuh"
#include "client/finish/effects/tiles.cuh"

namespace penstock::finish {
namespace {

static_assert(sizeof(EffectsJob) + sizeof(Layout) <= 4096);

template <Type type, Division division>
int LaunchAs(const cudaLaunchConfig_t& config, const EffectsJob& job, Layout layout) {
  if (job.job.choice.kernel != Kernel::kThreePlanes)
    return cudaLaunchKernelEx(&config, device::EffectTiles<type, division>, job, layout);
  return cudaLaunchKernelEx(&config,
                            job.erases ? device::EffectPlanes<type, division, true>
                                       : device::EffectPlanes<type, division, false>,
                            job);
}

template <Type type>
int LaunchAs(const cudaLaunchConfig_t& config, const EffectsJob& job, Layout layout,
             Division division) {
  return division == Division::kByRemainder
             ? LaunchAs<type, Division::kByRemainder>(config, job, layout)
             : LaunchAs<type, Division::kExact>(config, job, layout);
}

}  // namespace

int LaunchEffects(const EffectsJob& job, Type type, Layout layout, Division division,
                  void* stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned int>(job.job.choice.blocks));
  config.blockDim = dim3(kThreads);
  config.stream = static_cast<cudaStream_t>(stream);
  switch (type) {
    case Type::kUInt8:  // does not divide
      return LaunchAs<Type::kUInt8, Division::kByRemainder>(config, job, layout);
    case Type::kFloat32:
      return LaunchAs<Type::kFloat32>(config, job, layout, division);
    case Type::kFloat16:
      return LaunchAs<Type::kFloat16>(config, job, layout, division);
    case Type::kBFloat16:
      return LaunchAs<Type::kBFloat16>(config, job, layout, division);
  }
  return cudaErrorInvalidValue;
}

}  // namespace penstock::finish
