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

absl::StatusOr<const std::byte*> DeviceView(std::span<const std::byte> registered) {
  const auto view_of = [](const std::byte* at) -> const std::byte* {
    cudaPointerAttributes attributes = {};
    if (const cudaError_t error = cudaPointerGetAttributes(&attributes, at); error != cudaSuccess) {
      Ignore(error);
      return nullptr;
    }
    return attributes.type == cudaMemoryTypeHost
               ? static_cast<const std::byte*>(attributes.devicePointer)
               : nullptr;
  };
  const std::byte* const first = view_of(registered.data());
  const std::byte* const last = view_of(registered.data() + registered.size() - 1);
  if (first == nullptr || last != first + registered.size() - 1)
    return absl::InvalidArgumentError("the GPU cannot read this host memory in one piece");
  return first;
}

}  // namespace penstock::cuda
