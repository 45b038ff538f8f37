#include "common/cuda/slab.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <utility>

#include "common/cuda/device.h"
#include "common/cuda/driver.h"
#include "common/cuda/errors.h"
#include "common/cuda/vmm.h"

namespace penstock::cuda {
namespace {

static_assert(sizeof(cudaIpcMemHandle_t) == kIpcHandleBytes);

absl::StatusOr<std::byte*> Allocate(uint64_t bytes) {
  void* data = nullptr;
  const cudaError_t error = cudaMalloc(&data, bytes);
  if (error == cudaSuccess) return static_cast<std::byte*>(data);
  return FromRuntime(error, absl::StrCat("allocating ", bytes, " bytes on the GPU"));
}

void Free(int device, std::byte* data) {
  const DeviceScope scope(device);
  Ignore(cudaFree(data));
}

absl::Status CheckBytes(uint64_t bytes) {
  if (bytes > 0 && bytes % kSlabGranule == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a slab is a positive multiple of ", kSlabGranule, " bytes, got ", bytes));
}

absl::StatusOr<IpcHandle> ExportIpc(std::byte* data) {
  cudaIpcMemHandle_t made;
  const cudaError_t error = cudaIpcGetMemHandle(&made, data);
  if (error != cudaSuccess) {
    return FromRuntimeAs(absl::StatusCode::kFailedPrecondition, error,
                         "making an IPC handle of GPU memory", "ask for VMM handles");
  }
  IpcHandle handle;
  std::memcpy(handle.data(), &made, sizeof(made));
  return handle;
}

const char* WhyIpcFails(cudaError_t error) {
  switch (error) {
    case cudaErrorDeviceUninitialized:
      return "the exporting process has the same PID as this one (in another PID namespace), or "
             "is this one; ask for VMM handles";
    case cudaErrorInvalidValue:
    case cudaErrorInvalidResourceHandle:
      return "the exporter's GPU is not visible here, or the exporter is gone";
    case cudaErrorMapBufferObjectFailed:
      return "the container isolates GPU memory, or the exporter is gone; ask for VMM handles";
    case cudaErrorAlreadyMapped:
      return "this process has already opened the same memory";
    case cudaErrorPeerAccessUnsupported:
      return "the memory is not on the current GPU";
    default:
      return "";
  }
}

// Checks that the allocation behind a handle has the size that its maker claimed.
absl::Status CheckImported(std::byte* data, uint64_t bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(const Driver* driver, GetDriver());
  CUdeviceptr base = 0;
  size_t size = 0;
  PENSTOCK_RETURN_IF_ERROR(
      FromDriver(driver->address_range(&base, &size, reinterpret_cast<CUdeviceptr>(data)),
                 "asking for the size of another process's GPU memory"));
  if (reinterpret_cast<CUdeviceptr>(data) == base && size >= bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "another process's slab: wrong size: its handle has ", size, " bytes, expected ", bytes));
}

}  // namespace

absl::StatusOr<Slab> Slab::Make(HandleKind kind, uint64_t bytes) {
  PENSTOCK_RETURN_IF_ERROR(CheckBytes(bytes));
  Slab slab;
  PENSTOCK_ASSIGN_OR_RETURN(slab.device_, CurrentDevice());
  slab.kind_ = kind;
  if (kind == HandleKind::kVmm) {
    PENSTOCK_ASSIGN_OR_RETURN(vmm::Exported made, vmm::Make(slab.device_, bytes));
    slab.data_ = made.data;
    slab.vmm_handle_ = made.handle;
    slab.descriptor_ = std::move(made.descriptor);
    slab.bytes_ = bytes;
    return slab;
  }
  PENSTOCK_ASSIGN_OR_RETURN(slab.data_, Allocate(bytes));
  slab.bytes_ = bytes;
  PENSTOCK_ASSIGN_OR_RETURN(slab.ipc_, ExportIpc(slab.data_));
  return slab;
}

Slab::Slab(Slab&& other) noexcept { *this = std::move(other); }

Slab& Slab::operator=(Slab&& other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(bytes_, other.bytes_);
  std::swap(data_, other.data_);
  std::swap(device_, other.device_);
  std::swap(vmm_handle_, other.vmm_handle_);
  std::swap(ipc_, other.ipc_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Slab::~Slab() {
  if (data_ == nullptr) return;
  if (kind_ == HandleKind::kIpc) {
    Free(device_, data_);
  } else {
    vmm::Unmap(device_, data_, bytes_);
    vmm::Release(device_, vmm_handle_);
  }
}

absl::StatusOr<ImportedSlab> ImportedSlab::OpenIpc(const IpcHandle& handle, uint64_t bytes) {
  PENSTOCK_RETURN_IF_ERROR(CheckBytes(bytes));
  ImportedSlab slab;
  PENSTOCK_ASSIGN_OR_RETURN(slab.device_, CurrentDevice());
  cudaIpcMemHandle_t imported;
  std::memcpy(&imported, handle.data(), sizeof(imported));
  void* data = nullptr;
  const cudaError_t error = cudaIpcOpenMemHandle(&data, imported, cudaIpcMemLazyEnablePeerAccess);
  if (error != cudaSuccess) {
    return FromRuntimeAs(absl::StatusCode::kFailedPrecondition, error,
                         "opening another process's GPU memory (CUDA IPC)", WhyIpcFails(error));
  }
  slab.kind_ = HandleKind::kIpc;
  slab.data_ = static_cast<std::byte*>(data);
  slab.bytes_ = bytes;
  PENSTOCK_RETURN_IF_ERROR(CheckImported(slab.data_, bytes));
  return slab;
}

absl::StatusOr<ImportedSlab> ImportedSlab::OpenVmm(const posix::Fd& descriptor, uint64_t bytes) {
  PENSTOCK_RETURN_IF_ERROR(CheckBytes(bytes));
  ImportedSlab slab;
  PENSTOCK_ASSIGN_OR_RETURN(slab.device_, CurrentDevice());
  slab.kind_ = HandleKind::kVmm;
  PENSTOCK_ASSIGN_OR_RETURN(slab.data_, vmm::Import(slab.device_, descriptor, bytes));
  slab.bytes_ = bytes;
  return slab;
}

ImportedSlab::ImportedSlab(ImportedSlab&& other) noexcept { *this = std::move(other); }

ImportedSlab& ImportedSlab::operator=(ImportedSlab&& other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(bytes_, other.bytes_);
  std::swap(data_, other.data_);
  std::swap(device_, other.device_);
  return *this;
}

ImportedSlab::~ImportedSlab() {
  if (data_ == nullptr) return;
  if (kind_ == HandleKind::kVmm) {
    vmm::Unmap(device_, data_, bytes_);
    return;
  }
  const DeviceScope scope(device_);
  Ignore(cudaIpcCloseMemHandle(data_));
}

absl::StatusOr<DeviceMemory> DeviceMemory::Make(uint64_t bytes) {
  DeviceMemory memory;
  PENSTOCK_ASSIGN_OR_RETURN(memory.device_, CurrentDevice());
  PENSTOCK_ASSIGN_OR_RETURN(memory.data_, Allocate(bytes));
  memory.bytes_ = bytes;
  return memory;
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(data_, other.data_);
  std::swap(device_, other.device_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr) Free(device_, data_);
}

}  // namespace penstock::cuda
