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
  const int failed =
      cudaLaunchKernelEx(&config, device::MakeRows<false>, launch.rows, launch.tables);
  if (failed != 0 || launch.max_taps <= kMostFewTaps) return failed;
  return cudaLaunchKernelEx(&config, device::MakeRows<true>, launch.rows, launch.tables);
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
