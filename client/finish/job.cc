#include "client/finish/job.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "common/cuda/errors.h"

namespace penstock::finish {

absl::Status CheckLabels(std::span<const int64_t> labels, std::span<int64_t> into) {
  if (labels.size() > into.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the finish: not enough memory for labels: got room for ", into.size(),
                     ", expected ", labels.size()));
  }
  const auto bits =
      reinterpret_cast<uintptr_t>(labels.data()) | reinterpret_cast<uintptr_t>(into.data());
  if (!into.empty() && bits % alignof(int64_t) != 0) {
    return absl::InvalidArgumentError("the finish: labels on a GPU must be aligned to 8 bytes");
  }
  return absl::OkStatus();
}

Job MakeJob(const Spec& spec, const Shape& shape, std::byte* into) {
  Job job;
  job.into = into;
  job.pixels = uint64_t{shape.height} * shape.width;
  job.elements = shape.rows * job.pixels * shape.channels;
  job.channels = shape.channels;
  job.coefficients = PrepareCoefficients(spec, shape.channels).table;
  return job;
}

absl::Status CheckBlocks(const Job& job) {
  if (job.choice.blocks <= std::numeric_limits<int32_t>::max()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a batch of ", job.elements, " values is too large for one launch"));
}

absl::Status Launched(int error) {
  if (error == cudaSuccess) return absl::OkStatus();
  return cuda::FromRuntime(static_cast<cudaError_t>(error), "launching the finish kernel",
                           error == cudaErrorNoKernelImageForDevice
                               ? "this build has no kernels for this GPU's architecture; add it to "
                                 "PENSTOCK_CUDA_ARCHITECTURES and rebuild"
                               : "");
}

}  // namespace penstock::finish
