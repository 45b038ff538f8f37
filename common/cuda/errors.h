// Errors of CUDA → absl::Status. Internal to this room and to client/finish, for sources that may
// include CUDA's headers.
//
// Any thread. A failed runtime call leaves an error behind for whoever asks next; turning it into a
// status takes that away, so that a framework in the same process does not stumble over it. Results
// of the driver have the numbers of the runtime's errors.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "common/base/status.h"

namespace penstock::cuda {

// "<what>: <CUDA's text> (<CUDA's name>); <remedy>". A sticky error says that the process must be
// restarted, and IsSticky knows it.
absl::Status FromRuntime(cudaError_t error, absl::string_view what, absl::string_view remedy = "");
absl::Status FromDriver(CUresult result, absl::string_view what, absl::string_view remedy = "");

// The same under a code of the caller's choice, unless the error is sticky.
absl::Status FromRuntimeAs(absl::StatusCode code, cudaError_t error, absl::string_view what,
                           absl::string_view remedy = "");

// For destructors: nobody to tell. Takes the pending error away; CUDA may be unloading already.
void Ignore(cudaError_t error);

}  // namespace penstock::cuda

#define PENSTOCK_RETURN_IF_CUDA_ERROR(call, what)                                             \
  do {                                                                                        \
    if (const cudaError_t penstock_cuda_error_ = (call); penstock_cuda_error_ != cudaSuccess) \
      return ::penstock::cuda::FromRuntime(penstock_cuda_error_, what);                       \
  } while (false)
