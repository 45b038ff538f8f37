#include "common/cuda/pointer.h"

#include <cuda_runtime_api.h>

#include "common/cuda/errors.h"

namespace penstock::cuda {

bool Reaches(const void* pointer, int ordinal) {
  cudaPointerAttributes attributes;
  if (const cudaError_t error = cudaPointerGetAttributes(&attributes, pointer);
      error != cudaSuccess) {
    Ignore(error);
    return false;
  }
  switch (attributes.type) {
    case cudaMemoryTypeDevice:
      return attributes.device == ordinal;
    case cudaMemoryTypeHost:
    case cudaMemoryTypeManaged:
      return attributes.devicePointer != nullptr;
    default:
      return false;
  }
}

}  // namespace penstock::cuda
