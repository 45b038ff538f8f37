// What a foreign pointer points to. Any thread.
#pragma once

namespace penstock::cuda {

// Whether kernels on device `ordinal` can use the pointer: memory of that device, managed memory,
// or host memory known to CUDA. False for plain host memory, other devices' memory, null, and in
// builds without CUDA.
bool Reaches(const void* pointer, int ordinal);

}  // namespace penstock::cuda
