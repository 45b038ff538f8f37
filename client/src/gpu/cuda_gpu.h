// The real Gpu: one device of this process, through common/cuda and the finish kernels.
//
// When the process exits, CUDA may be gone before the objects made from it. So from the first exit
// handler on, nothing is freed any more and every call is refused: no destructor touches CUDA.
#pragma once

#include <memory>

#include "client/src/gpu/gpu.h"
#include "common/base/status.h"
#include "common/cuda/device.h"

namespace penstock::client {

// Creates the device's context if this process has none yet.
absl::StatusOr<std::shared_ptr<Gpu>> OpenGpu(const cuda::Device& device);

}  // namespace penstock::client
