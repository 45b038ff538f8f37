// What every launch of a finish begins and ends with. Only in builds with CUDA.
#pragma once

#include <cstdint>
#include <span>

#include "client/finish/launch.h"
#include "common/base/status.h"

namespace penstock::finish {

absl::Status CheckLabels(std::span<const int64_t> labels, std::span<int64_t> into);

// A job without its rows, labels and choice.
Job MakeJob(const Spec& spec, const Shape& shape, std::byte* into);

// InvalidArgument if the choice has more blocks than a launch may have.
absl::Status CheckBlocks(const Job& job);

// The status of a launch that returned this cudaError_t.
absl::Status Launched(int error);

}  // namespace penstock::finish
