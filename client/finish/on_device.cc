#include "client/finish/on_device.h"

#include "client/finish/checks.h"
#include "client/finish/job.h"
#include "client/finish/launch.h"

namespace penstock::finish {
namespace {

absl::Status Start(const Job& job, const Spec& spec, cuda::StreamHandle stream) {
  PENSTOCK_RETURN_IF_ERROR(CheckBlocks(job));
  const Division division = PrepareCoefficients(spec, job.channels).division;
  return Launched(Launch(job, spec.type, spec.layout, division, stream));
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
