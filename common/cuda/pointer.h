// What a foreign pointer points to. Any thread.
#pragma once

#include <cstddef>
#include <span>

#include "common/base/status.h"

namespace penstock::cuda {

// Whether kernels on device `ordinal` can use the pointer: memory of that device, managed memory,
// or host memory known to CUDA. False for plain host memory, other devices' memory, null, and in
// builds without CUDA.
bool Reaches(const void* pointer, int ordinal);

// Where the current device reads host memory that is registered with CUDA. **Errors**:
// InvalidArgument if it is not, or if these bytes lie apart there.
absl::StatusOr<const std::byte*> DeviceView(std::span<const std::byte> registered);

}  // namespace penstock::cuda
