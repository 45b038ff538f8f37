#include "common/cuda/registration.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>

#include "common/cuda/device.h"
#include "common/cuda/errors.h"

namespace penstock::cuda {
namespace {

absl::Status CheckPages(const std::byte* data, size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  if (data != nullptr && bytes > 0 && bytes % page == 0 &&
      reinterpret_cast<uintptr_t>(data) % page == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("host memory to register must be whole pages of ",
                                                 page, " bytes, got ", bytes, " bytes"));
}

absl::Status Failed(cudaError_t error, size_t bytes) {
  const std::string what = absl::StrCat("registering ", bytes, " bytes of host memory with CUDA");
  switch (error) {
    case cudaErrorHostMemoryAlreadyRegistered:
      return FromRuntimeAs(absl::StatusCode::kFailedPrecondition, error, what,
                           "this process has already registered part of it");
    case cudaErrorInvalidValue:
    case cudaErrorNotSupported:
    case cudaErrorNotPermitted:
      return FromRuntimeAs(absl::StatusCode::kFailedPrecondition, error, what,
                           "only anonymous memory and memfds can be registered, and read-only "
                           "mappings only as read-only");
    default:
      return FromRuntime(error, what);
  }
}

void Unregister(std::byte* data, size_t bytes) {
  for (size_t at = 0; at < bytes; at += ToRegistrationBorder(data + at, bytes - at))
    Ignore(cudaHostUnregister(data + at));
}

}  // namespace

absl::StatusOr<Registration> Registration::Make(std::byte* data, size_t bytes, HostAccess access) {
  PENSTOCK_RETURN_IF_ERROR(CheckPages(data, bytes));
  PENSTOCK_ASSIGN_OR_RETURN(const int device, CurrentDevice());
  const unsigned int flags = cudaHostRegisterPortable | cudaHostRegisterMapped |
                             (access == HostAccess::kReadOnly ? cudaHostRegisterReadOnly : 0);
  for (size_t at = 0, here = 0; at < bytes; at += here) {
    here = ToRegistrationBorder(data + at, bytes - at);
    if (const cudaError_t error = cudaHostRegister(data + at, here, flags); error != cudaSuccess) {
      absl::Status failed = Failed(error, bytes);
      Unregister(data, at);
      return failed;
    }
  }
  Registration registration;
  registration.data_ = data;
  registration.bytes_ = bytes;
  registration.device_ = device;
  return registration;
}

Registration::~Registration() {
  if (data_ == nullptr) return;
  const DeviceScope scope(device_);
  Unregister(data_, bytes_);
}

absl::StatusOr<uint64_t> Registration::DeviceAddress(const std::byte* at) const {
  if (data_ == nullptr || at < data_ || at >= data_ + bytes_) {
    return absl::InvalidArgumentError("the address is not in this registered memory");
  }
  const size_t into_piece = std::min(static_cast<size_t>(at - data_),
                                     reinterpret_cast<uintptr_t>(at) % kRegistrationBorder);
  void* address = nullptr;
  PENSTOCK_RETURN_IF_CUDA_ERROR(
      cudaHostGetDevicePointer(&address, const_cast<std::byte*>(at) - into_piece, 0),
      "asking for the GPU's address of registered memory");
  return reinterpret_cast<uint64_t>(address) + into_piece;
}

absl::StatusOr<PinnedMemory> PinnedMemory::Make(size_t bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(const int device, CurrentDevice());
  void* data = nullptr;
  PENSTOCK_RETURN_IF_CUDA_ERROR(cudaHostAlloc(&data, bytes, cudaHostAllocPortable),
                                absl::StrCat("allocating ", bytes, " bytes of pinned memory"));
  PinnedMemory memory;
  memory.data_ = static_cast<std::byte*>(data);
  memory.bytes_ = bytes;
  memory.device_ = device;
  return memory;
}

PinnedMemory::~PinnedMemory() {
  if (data_ == nullptr) return;
  const DeviceScope scope(device_);
  Ignore(cudaFreeHost(data_));
}

}  // namespace penstock::cuda
