#include "common/cuda/memory_info.h"

#include <cuda_runtime_api.h>

#include "common/cuda/errors.h"

namespace penstock::cuda {

absl::StatusOr<MemoryInfo> QueryMemory() {
  size_t free = 0, total = 0;
  if (const cudaError_t error = cudaMemGetInfo(&free, &total); error != cudaSuccess)
    return FromRuntime(error, "asking for a GPU's free memory", "");
  return MemoryInfo{free, total};
}

}  // namespace penstock::cuda
