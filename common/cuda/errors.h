// Converts CUDA errors to absl::Status. Internal to this folder, client/finish and
// client/gpu_decode, for source files that may include CUDA's headers.
//
// A failed runtime call leaves a pending error for the next caller of cudaGetLastError. The
// conversion consumes it, so that it does not confuse a framework in the same process. Driver
// results have the same numbers as runtime errors.
//
// **Thread safety**: any thread.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "common/base/status.h"

namespace penstock::cuda {

// "<what>: <CUDA's text> (<CUDA's name>); <remedy>". For a sticky error, the remedy is to restart
// the process, and IsSticky returns true for the status.
absl::Status FromRuntime(cudaError_t error, absl::string_view what, absl::string_view remedy = "");
absl::Status FromDriver(CUresult result, absl::string_view what, absl::string_view remedy = "");

// The same with the caller's code, unless the error is sticky.
absl::Status FromRuntimeAs(absl::StatusCode code, cudaError_t error, absl::string_view what,
                           absl::string_view remedy = "");

// For destructors, which cannot report errors. Consumes the pending error; CUDA may be unloading
// already.
void Ignore(cudaError_t error);

}  // namespace penstock::cuda

#define PENSTOCK_RETURN_IF_CUDA_ERROR(call, what)                                             \
  do {                                                                                        \
    if (const cudaError_t penstock_cuda_error_ = (call); penstock_cuda_error_ != cudaSuccess) \
      return ::penstock::cuda::FromRuntime(penstock_cuda_error_, what);                       \
  } while (false)
