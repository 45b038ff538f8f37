// How much of a GPU's memory is in use, by all processes together, asked of the driver's management
// library (NVML), which is looked up at run time: CUDA itself cannot be asked before it has a
// context.
//
// Any thread. Makes no context.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "common/cuda/device.h"

namespace penstock::cuda {

// Bytes. Unavailable where there is no such library, or it does not know the GPU.
absl::StatusOr<uint64_t> UsedBytes(const Uuid& uuid);

}  // namespace penstock::cuda
