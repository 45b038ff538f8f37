#include <limits>

#include "absl/strings/str_cat.h"
#include "client/finish/tensor_launch.h"
#include "common/cuda/errors.h"

namespace penstock::finish {
namespace {

// Treats rows without gaps as one long row, so that all blocks are full.
TensorJob Flat(TensorJob job) {
  if (job.row_stride != job.elements * base::ElementBytes(job.from)) return job;
  job.elements *= job.rows;
  job.rows = 1;
  return job;
}

}  // namespace

absl::Status ConvertOnDevice(const TensorJob& job, cuda::StreamHandle stream) {
  PENSTOCK_RETURN_IF_ERROR(CheckTensor(job));
  if (job.rows == 0 || job.elements == 0) return absl::OkStatus();
  const TensorJob flat = Flat(job);
  if (BlocksFor(flat) > std::numeric_limits<int32_t>::max())
    return absl::InvalidArgumentError(absl::StrCat("a tensor of ", job.rows, " x ", job.elements,
                                                   " values is too large for one launch"));
  const auto error = static_cast<cudaError_t>(LaunchConvert(flat, stream));
  if (error == cudaSuccess) return absl::OkStatus();
  return cuda::FromRuntime(error, "launching a tensor's finish kernel", "");
}

}  // namespace penstock::finish
