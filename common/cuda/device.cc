#include "common/cuda/device.h"

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstring>

#include "absl/strings/str_join.h"
#include "common/cuda/driver.h"
#include "common/cuda/errors.h"

namespace penstock::cuda {
namespace {

constexpr int kMaxDevices = 256;

int Attribute(const Driver& driver, CUdevice device, CUdevice_attribute attribute, int otherwise) {
  int value = otherwise;
  return driver.device_attribute(&value, attribute, device) == CUDA_SUCCESS ? value : otherwise;
}

absl::StatusOr<Device> Describe(const Driver& driver, int ordinal) {
  cudaDeviceProp properties;
  PENSTOCK_RETURN_IF_CUDA_ERROR(cudaGetDeviceProperties(&properties, ordinal),
                                absl::StrCat("looking at GPU ", ordinal));
  CUdevice handle = 0;
  PENSTOCK_RETURN_IF_ERROR(
      FromDriver(driver.device_get(&handle, ordinal), absl::StrCat("looking at GPU ", ordinal)));
  const auto attribute = [&](CUdevice_attribute which, int otherwise) {
    return Attribute(driver, handle, which, otherwise);
  };
  const int mode = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT);
  Device device;
  device.ordinal = ordinal;
  static_assert(sizeof(properties.uuid) == sizeof(device.uuid.bytes));
  std::memcpy(device.uuid.bytes.data(), &properties.uuid, sizeof(properties.uuid));
  device.name = properties.name;
  device.memory_bytes = properties.totalGlobalMem;
  device.exclusive = mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS;
  device.prohibited = mode == CU_COMPUTEMODE_PROHIBITED;
  device.stream_memory_ops = attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 0) != 0;
  device.vmm_descriptors =
      attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0) != 0 &&
      attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0) != 0;
  device.numa_node = attribute(CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, -1);
  return device;
}

// The primary context of a device, which the runtime also uses. Retained once and never released,
// because the runtime keeps it for the life of the process as well.
absl::StatusOr<CUcontext> PrimaryContext(const Driver& driver, int ordinal) {
  static std::array<std::atomic<CUcontext>, kMaxDevices> retained = {};
  if (ordinal < 0 || ordinal >= kMaxDevices) {
    return absl::InvalidArgumentError(absl::StrCat("there is no GPU ", ordinal));
  }
  CUcontext context = retained[ordinal].load(std::memory_order_acquire);
  if (context != nullptr) return context;
  const std::string what = absl::StrCat("opening GPU ", ordinal);
  CUdevice device = 0;
  PENSTOCK_RETURN_IF_ERROR(FromDriver(driver.device_get(&device, ordinal), what));
  PENSTOCK_RETURN_IF_ERROR(
      FromDriver(driver.retain_primary(&context, device), what,
                 "it may be in exclusive mode and in use, or its memory full; see nvidia-smi"));
  retained[ordinal].store(context, std::memory_order_release);
  return context;
}

// True if it pushed the context; false if that was current already.
absl::StatusOr<bool> Push(int ordinal) {
  PENSTOCK_ASSIGN_OR_RETURN(const Driver* driver, GetDriver());
  PENSTOCK_ASSIGN_OR_RETURN(const CUcontext context, PrimaryContext(*driver, ordinal));
  CUcontext current = nullptr;
  PENSTOCK_RETURN_IF_ERROR(
      FromDriver(driver->current_context(&current), "asking for this thread's CUDA context"));
  if (current == context) return false;
  PENSTOCK_RETURN_IF_ERROR(
      FromDriver(driver->push_context(context), absl::StrCat("making GPU ", ordinal, " current")));
  return true;
}

}  // namespace

absl::StatusOr<std::vector<Device>> Devices() {
  PENSTOCK_ASSIGN_OR_RETURN(const Driver* driver, GetDriver());
  int count = 0;
  PENSTOCK_RETURN_IF_CUDA_ERROR(cudaGetDeviceCount(&count), "counting GPUs");
  std::vector<Device> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    PENSTOCK_ASSIGN_OR_RETURN(Device device, Describe(*driver, ordinal));
    devices.push_back(std::move(device));
  }
  return devices;
}

absl::StatusOr<Device> FindDevice(const Uuid& uuid) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<Device> devices, Devices());
  for (const Device& device : devices) {
    if (device.uuid == uuid) return device;
  }
  const std::string visible = absl::StrJoin(
      devices, ", ",
      [](std::string* out, const Device& device) { absl::StrAppend(out, device.uuid.ToString()); });
  return absl::NotFoundError(
      absl::StrCat(uuid.ToString(), " is not visible to this process, which sees ", visible));
}

absl::StatusOr<int> CurrentDevice() {
  PENSTOCK_RETURN_IF_ERROR(Usable());
  int ordinal = 0;
  PENSTOCK_RETURN_IF_CUDA_ERROR(cudaGetDevice(&ordinal), "asking for the current GPU");
  return ordinal;
}

// Pushes the context rather than calling cudaSetDevice: restoring the old device with cudaSetDevice
// would create a context on it in a thread that had none.
DeviceScope::DeviceScope(int ordinal) {
  absl::StatusOr<bool> pushed = Push(ordinal);
  if (!pushed.ok()) status_ = pushed.status();
  pushed_ = pushed.ok() && *pushed;
}

DeviceScope::~DeviceScope() {
  if (!pushed_) return;
  CUcontext popped = nullptr;
  static_cast<void>((*GetDriver())->pop_context(&popped));
}

}  // namespace penstock::cuda
