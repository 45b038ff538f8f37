#include <cuda_runtime.h>

#include "client/gpu_decode/kernel_row.h"
#include "client/gpu_decode/marks.cuh"
#include "client/gpu_decode/marks.h"
#include "client/gpu_decode/rows.cuh"

namespace penstock::gpu_decode {
namespace {

constexpr uint32_t kMaxBlocksAcross = 128;  // blocks with more to do loop
constexpr uint32_t kMarkBlocksAcross = 8;

cudaLaunchConfig_t Config(uint32_t across, uint32_t down, uint32_t threads, void* stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(across, down);
  config.blockDim = dim3(threads);
  config.stream = static_cast<cudaStream_t>(stream);
  return config;
}

}  // namespace

// These return the launch's own result instead of cudaGetLastError, which may hold another's error.
int LaunchRows(const KernelLaunch& launch) {
  const uint32_t across = launch.max_tiles < kMaxBlocksAcross ? launch.max_tiles : kMaxBlocksAcross;
  const cudaLaunchConfig_t config =
      Config(across, launch.row_count, device::kRowThreads, launch.stream);
  const auto enqueue = [&](auto* make) {
    return cudaLaunchKernelEx(&config, make, launch.rows, launch.tables);
  };
  if (launch.any_plain) {
    if (const int failed = enqueue(device::MakeRows<true>); failed != 0) return failed;
  }
  return launch.any_other ? enqueue(device::MakeRows<false>) : 0;
}

int LaunchSetMarks(const MarksLaunch& launch) {
  const cudaLaunchConfig_t config =
      Config(kMarkBlocksAcross, launch.count, device::kMarkThreads, launch.stream);
  return cudaLaunchKernelEx(&config, device::SetMarks, launch);
}

int LaunchCountMarks(const MarksLaunch& launch) {
  const cudaLaunchConfig_t config =
      Config(kMarkBlocksAcross, launch.count, device::kMarkThreads, launch.stream);
  return cudaLaunchKernelEx(&config, device::CountMarks, launch);
}

}  // namespace penstock::gpu_decode
