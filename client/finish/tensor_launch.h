// What is between the checks of a tensor's finish and its kernel. No CUDA header.
#pragma once

#include <cstdint>

#include "client/finish/tensor.h"

namespace penstock::finish {

uint64_t BlocksFor(const TensorJob& job);

// Puts the one launch into the stream: of at least one element. A cudaError_t; 0 is success.
int LaunchConvert(const TensorJob& job, void* stream);

}  // namespace penstock::finish
