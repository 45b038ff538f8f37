// What a pointer that somebody hands us points at.
//
// Any thread.
#pragma once

namespace penstock::cuda {

// Whether kernels on device `ordinal` can use it: memory of that device, managed memory, host
// memory that CUDA knows. False for plain host memory, other devices' memory, null, and without
// CUDA.
bool Reaches(const void* pointer, int ordinal);

}  // namespace penstock::cuda
