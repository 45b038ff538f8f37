// The kernel that gathers and casts rows. Each block handles one piece of one row.
#include <cuda_runtime.h>

#include "client/finish/cast.h"
#include "client/finish/tensor_launch.h"

namespace penstock::finish {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kTurns = 8;  // elements for each thread
constexpr uint64_t kPiece = kThreads * kTurns;

template <typename From, typename To>
__global__ void __launch_bounds__(kThreads)
    ConvertPieces(const TensorJob job, uint64_t pieces_per_row) {
  const uint64_t row = blockIdx.x / pieces_per_row;
  const uint64_t first = (blockIdx.x - row * pieces_per_row) * kPiece + threadIdx.x;
  const auto* from = reinterpret_cast<const From*>(job.data + row * job.row_stride);
  To* to = reinterpret_cast<To*>(job.into) + row * job.elements;
#pragma unroll
  for (uint32_t turn = 0; turn < kTurns; ++turn) {
    const uint64_t i = first + turn * kThreads;
    if (i < job.elements) to[i] = Cast<From, To>::Of(from[i]);
  }
}

}  // namespace

uint64_t BlocksFor(const TensorJob& job) {
  return job.rows * ((job.elements + kPiece - 1) / kPiece);
}

int LaunchConvert(const TensorJob& job, void* stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned int>(BlocksFor(job)));
  config.blockDim = dim3(kThreads);
  config.stream = static_cast<cudaStream_t>(stream);
  int error = cudaErrorInvalidValue;
  ForCast(job.from, job.to, [&]<typename From, typename To>() {
    error = cudaLaunchKernelEx(&config, &ConvertPieces<From, To>, job,
                               (job.elements + kPiece - 1) / kPiece);
  });
  return error;
}

}  // namespace penstock::finish
