// DevicePool::Open: the only part of a pool that needs a real device.
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/src/core/convert.h"
#include "client/src/gpu/cuda_gpu.h"
#include "client/src/gpu/pool_core.h"
#include "penstock/device_pool.h"

namespace penstock {
namespace {

absl::StatusOr<cuda::Device> Find(int ordinal) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<cuda::Device> devices, cuda::Devices());
  for (const cuda::Device& device : devices) {
    if (device.ordinal == ordinal) return device;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no device ", ordinal, ": this process sees ", devices.size(),
                   " GPUs, numbered from 0; check CUDA_VISIBLE_DEVICES"));
}

absl::StatusOr<std::shared_ptr<client::PoolCore>> Make(int ordinal) {
  PENSTOCK_ASSIGN_OR_RETURN(const cuda::Device device, Find(ordinal));
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<client::Gpu> gpu, client::OpenGpu(device));
  return client::PoolCore::Make(std::move(gpu));
}

}  // namespace

Result<DevicePool> DevicePool::Open(int device) {
  absl::StatusOr<std::shared_ptr<client::PoolCore>> core = Make(device);
  if (!core.ok()) return client::ToPublic(core.status());
  return DevicePool(*std::move(core));
}

}  // namespace penstock
