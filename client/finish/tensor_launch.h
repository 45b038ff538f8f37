// The interface between the checks of a tensor's finish and its kernel. Includes no CUDA header.
#pragma once

#include <cstdint>

#include "client/finish/tensor.h"

namespace penstock::finish {

uint64_t BlocksFor(const TensorJob& job);

// Enqueues one launch. Returns a cudaError_t; 0 is success. **Requires**: at least one element.
int LaunchConvert(const TensorJob& job, void* stream);

}  // namespace penstock::finish
