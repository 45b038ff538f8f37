// The real Gpu: one device of this process, by common/cuda and the finish kernels.
//
// While the process ends, CUDA may be gone before what was made of it: from the first exit handler
// on, nothing is freed any more and every call is refused, so that no destructor touches CUDA.
#pragma once

#include <memory>

#include "client/src/gpu/gpu.h"
#include "common/base/status.h"
#include "common/cuda/device.h"

namespace penstock::client {

// Makes the device's context where this process has none yet.
absl::StatusOr<std::shared_ptr<Gpu>> OpenGpu(const cuda::Device& device);

}  // namespace penstock::client
