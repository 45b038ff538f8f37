// How much of a GPU's memory all processes together use. Asks NVML, the driver's management
// library, which is looked up at run time: CUDA itself cannot answer before it has a context. Any
// thread; creates no context.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "common/cuda/device.h"

namespace penstock::cuda {

// In bytes. **Errors**: Unavailable if NVML is missing or does not know the GPU.
absl::StatusOr<uint64_t> UsedBytes(const Uuid& uuid);

}  // namespace penstock::cuda
