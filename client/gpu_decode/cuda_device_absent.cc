// In a build without CUDA, there is no device to make rows on.
#include "client/gpu_decode/decode_device.h"
#include "common/cuda/device.h"

namespace penstock::gpu_decode {

absl::StatusOr<std::unique_ptr<DecodeDevice>> MakeCudaDevice(cuda::StreamHandle,
                                                             const DeviceAllocator&) {
  return cuda::Usable();
}

}  // namespace penstock::gpu_decode
