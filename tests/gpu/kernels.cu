#include <cuda_runtime_api.h>

#include "tests/gpu/kernels.h"

namespace penstock::gpu {
namespace {

constexpr int kThreads = 256;

__device__ uint64_t Nanoseconds() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

uint64_t ToNanoseconds(double seconds) { return static_cast<uint64_t>(seconds * 1e9); }

__global__ void SpinKernel(uint64_t nanoseconds) {
  const uint64_t end = Nanoseconds() + nanoseconds;
  while (Nanoseconds() < end) {
  }
}

__global__ void ComputeKernel(uint32_t rounds, float* spare) {
  float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
  for (uint32_t i = 0; i < rounds; ++i) {
    a = fmaf(a, 0.999f, 1.0f);
    b = fmaf(b, 0.999f, 1.0f);
    c = fmaf(c, 0.999f, 1.0f);
    d = fmaf(d, 0.999f, 1.0f);
  }
  if (a + b + c + d < 0) *spare = a;  // never true; keeps the compiler from removing the work
}

// One block, so that a pass has a defined end.
__global__ void WatchKernel(const volatile uint8_t* rows, size_t bytes, uint8_t* spare,
                            uint64_t nanoseconds, WatchReport* report) {
  const uint64_t end = Nanoseconds() + nanoseconds;
  for (size_t i = threadIdx.x; i < bytes; i += blockDim.x) spare[i] = rows[i];
  do {
    unsigned long long wrong = 0;
    for (size_t i = threadIdx.x; i < bytes; i += blockDim.x) wrong += rows[i] != spare[i];
    if (wrong != 0) {
      atomicAdd_system(reinterpret_cast<unsigned long long*>(&report->mismatches), wrong);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      volatile uint64_t* const passes = &report->passes;
      *passes = *passes + 1;
      __threadfence_system();
    }
  } while (Nanoseconds() < end);
}

__global__ void OverwriteKernel(uint8_t* at, size_t bytes) {
  for (size_t i = threadIdx.x; i < bytes; i += blockDim.x) at[i] = ~at[i];
}

cudaStream_t ToStream(void* stream) { return static_cast<cudaStream_t>(stream); }

}  // namespace

void Spin(double seconds, void* stream) {
  SpinKernel<<<1, 1, 0, ToStream(stream)>>>(ToNanoseconds(seconds));
}

void Compute(uint32_t rounds, float* spare, void* stream) {
  constexpr int kBlocks = 132 * 8;
  ComputeKernel<<<kBlocks, kThreads, 0, ToStream(stream)>>>(rounds, spare);
}

void Watch(const uint8_t* rows, size_t bytes, uint8_t* spare, double seconds, WatchReport* report,
           void* stream) {
  WatchKernel<<<1, kThreads, 0, ToStream(stream)>>>(rows, bytes, spare, ToNanoseconds(seconds),
                                                    report);
}

void Overwrite(uint8_t* at, size_t bytes, void* stream) {
  OverwriteKernel<<<1, kThreads, 0, ToStream(stream)>>>(at, bytes);
}

}  // namespace penstock::gpu
