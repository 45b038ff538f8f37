#include "client/finish/on_device.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "client/finish/checks.h"
#include "client/finish/launch.h"
#include "common/cuda/errors.h"

namespace penstock::finish {
namespace {

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

absl::Status Start(const Job& job, const Spec& spec, cuda::StreamHandle stream) {
  if (job.choice.blocks > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a batch of ", job.elements, " values is too large for one launch"));
  }
  const Division division = PrepareCoefficients(spec, job.channels).division;
  const auto error =
      static_cast<cudaError_t>(Launch(job, spec.type, spec.layout, division, stream));
  if (error == cudaSuccess) return absl::OkStatus();
  return cuda::FromRuntime(error, "launching the finish kernel",
                           error == cudaErrorNoKernelImageForDevice
                               ? "this build has no kernels for this GPU's architecture; add it to "
                                 "PENSTOCK_CUDA_ARCHITECTURES and rebuild"
                               : "");
}

}  // namespace

absl::Status ApplyOnDevice(const Spec& spec, const Shape& shape, std::span<const uint8_t> rows,
                           std::span<const int64_t> labels, std::span<std::byte> into,
                           std::span<int64_t> labels_into, cuda::StreamHandle stream) {
  PENSTOCK_RETURN_IF_ERROR(CheckSizes(spec, shape, rows.size(), into.size()));
  PENSTOCK_RETURN_IF_ERROR(CheckCoefficients(spec, shape.channels));
  PENSTOCK_RETURN_IF_ERROR(CheckLabels(labels, labels_into));
  if (rows.empty()) return absl::OkStatus();
  Job job = MakeJob(spec, shape, into.data());
  job.rows = rows.data();
  job.labels = labels.data();
  job.labels_into = labels_into.data();
  job.label_count = labels.size();
  job.choice = Choose(spec.type, spec.layout, shape, reinterpret_cast<uintptr_t>(rows.data()),
                      reinterpret_cast<uintptr_t>(into.data()));
  return Start(job, spec, stream);
}

absl::Status SynthesizeOnDevice(const Synthetic& what, const Spec& spec, const Shape& shape,
                                std::span<std::byte> into, std::span<int64_t> labels_into,
                                cuda::StreamHandle stream) {
  PENSTOCK_RETURN_IF_ERROR(CheckSynthetic(what, spec, shape, into.size(), labels_into.size()));
  PENSTOCK_RETURN_IF_ERROR(CheckLabels({}, labels_into));
  Job job = MakeJob(spec, shape, into.data());
  if (job.elements == 0) return absl::OkStatus();
  job.synthetic = what;
  job.labels_into = labels_into.data();
  job.label_count = labels_into.size();
  job.choice = ChooseTiles(shape);
  return Start(job, spec, stream);
}

}  // namespace penstock::finish
