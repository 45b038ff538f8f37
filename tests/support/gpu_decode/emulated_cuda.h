// Just enough of CUDA's language to run a kernel's source on a CPU, thread by thread, with its
// barriers and shuffles. Each thread of a block is a coroutine, and blocks run one after the other.
// Slow, but it finds wrong indices, weights and barriers on machines without a GPU; with
// AddressSanitizer, reads beyond an allocation, too.
//
// To be included before the kernel's header, in one source file of a program.
// **Thread safety**: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

// NOLINTBEGIN(bugprone-reserved-identifier): CUDA's own names.
#define __device__
#define __forceinline__ inline
#define __global__
#define __shared__ static
#define __launch_bounds__(...)

struct uint4 {
  uint32_t x, y, z, w;
};
struct int4 {
  int32_t x, y, z, w;
};
struct EmulatedIndex {
  uint32_t x = 0, y = 0;
};

// Of the thread that runs now.
inline EmulatedIndex threadIdx, blockIdx, gridDim;

using std::max;
using std::min;

template <typename T>
T __ldg(const T* at) {
  return *at;
}

inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t shift) {
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> (shift % 32));
}

// Each digit of the selector names one of the eight bytes.
inline uint32_t __byte_perm(uint32_t low, uint32_t high, uint32_t selector) {
  const uint64_t bytes = uint64_t{high} << 32 | low;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    result |= static_cast<uint32_t>(bytes >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
  }
  return result;
}

inline int __vimin_s32_relu(int a, int b) { return std::max(std::min(a, b), 0); }

inline uint32_t atomicAdd(uint32_t* at, uint32_t value) {
  const uint32_t before = *at;
  *at += value;
  return before;
}

void __syncthreads();

// All 32 threads of the warp take part.
uint32_t __shfl_down_sync(uint32_t mask, uint32_t value, uint32_t distance);
// NOLINTEND(bugprone-reserved-identifier)

namespace penstock::testing {

// Runs `kernel` once for each thread of each block of the grid. Stops the program if threads wait
// at different barriers, which would hang a GPU.
void RunEmulated(EmulatedIndex grid, uint32_t threads, const std::function<void()>& kernel);

}  // namespace penstock::testing
