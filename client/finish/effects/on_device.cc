#include "client/finish/effects/on_device.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/finish/checks.h"
#include "client/finish/effects/launch.h"
#include "client/finish/job.h"

namespace penstock::finish {
namespace {

absl::Status CheckSoftLabelsOnDevice(const Effects& effects, const Shape& shape, size_t labels) {
  if (effects.soft_labels == nullptr) return absl::OkStatus();
  if (effects.classes == 0)
    return absl::InvalidArgumentError("soft labels: classes: got 0, expected at least 1");
  if (labels != shape.rows)
    return absl::InvalidArgumentError(
        absl::StrCat("soft labels: got ", labels, " labels, expected ", shape.rows));
  if (reinterpret_cast<uintptr_t>(effects.soft_labels) % alignof(float) != 0)
    return absl::InvalidArgumentError("soft labels on a GPU must be aligned to 4 bytes");
  return absl::OkStatus();
}

bool AnyErased(const Effects& effects) {
  return std::ranges::any_of(effects.erasures, [](const Erasure& erasure) {
    return erasure.box.width != 0 && erasure.box.height != 0;
  });
}

EffectsJob MakeEffectsJob(const Job& job, const Effects& effects, const Shape& shape) {
  EffectsJob whole;
  whole.job = job;
  whole.rows = shape.rows;
  whole.width = shape.width;
  whole.mix = effects.mix.kind;
  whole.factors = ToFactors(effects.mix);
  whole.cut = effects.mix.box;
  whole.erases = AnyErased(effects);
  whole.noise = effects.fill == EraseFill::kNoise;
  std::copy_n(effects.value, kEffectChannels, whole.value);
  whole.soft_labels = effects.soft_labels;
  whole.classes = effects.classes;
  return whole;
}

// The boxes of the partner of the launch's first row and of its `rows` rows.
void SetBoxes(EffectsJob& job, const Effects& effects, uint32_t rows) {
  if (!job.erases) return;
  for (uint32_t place = 0; place <= rows; ++place) {
    const uint32_t row =
        place == 0 ? PartnerOf(job.first_row, job.rows) : job.first_row + place - 1;
    const Erasure& erasure = effects.erasures[row];
    const bool empty = erasure.box.width == 0 || erasure.box.height == 0;
    job.boxes[job.noise ? 2 * place : place] = empty ? 0 : Packed(erasure.box);
    if (job.noise) job.boxes[2 * place + 1] = erasure.noise_key;
  }
}

// Linear would not know which pixel a value is of.
Choice ChooseForEffects(const Spec& spec, const Shape& shape, const Job& job) {
  const Choice choice = job.rows == nullptr ? ChooseTiles(shape)
                                            : Choose(spec.type, spec.layout, shape,
                                                     reinterpret_cast<uintptr_t>(job.rows),
                                                     reinterpret_cast<uintptr_t>(job.into));
  return choice.kernel == Kernel::kLinear ? ChooseTiles(shape) : choice;
}

// Labels are written by the first launch.
absl::Status StartAll(EffectsJob job, const Spec& spec, const Effects& effects, const Shape& shape,
                      cuda::StreamHandle stream) {
  const Division division = PrepareCoefficients(spec, shape.channels).division;
  const uint32_t most = RowsPerLaunch(job, shape.rows);
  while (job.first_row < shape.rows) {
    Shape part = shape;
    part.rows = std::min(most, shape.rows - job.first_row);
    job.job.choice = ChooseForEffects(spec, part, job.job);
    PENSTOCK_RETURN_IF_ERROR(CheckBlocks(job.job));
    SetBoxes(job, effects, part.rows);
    PENSTOCK_RETURN_IF_ERROR(
        Launched(LaunchEffects(job, spec.type, spec.layout, division, stream)));
    job.first_row += part.rows;
    job.job.label_count = 0;
    job.soft_labels = nullptr;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyWithEffectsOnDevice(const Spec& spec, const Effects& effects, const Shape& shape,
                                      std::span<const uint8_t> rows,
                                      std::span<const int64_t> labels, std::span<std::byte> into,
                                      std::span<int64_t> labels_into, cuda::StreamHandle stream) {
  PENSTOCK_RETURN_IF_ERROR(CheckSizes(spec, shape, rows.size(), into.size()));
  PENSTOCK_RETURN_IF_ERROR(CheckCoefficients(spec, shape.channels));
  PENSTOCK_RETURN_IF_ERROR(CheckEffects(spec, shape, effects));
  PENSTOCK_RETURN_IF_ERROR(CheckSoftLabelsOnDevice(effects, shape, labels.size()));
  const std::span<const int64_t> copied = labels_into.empty() ? labels.first(0) : labels;
  PENSTOCK_RETURN_IF_ERROR(CheckLabels(copied, labels_into));
  if (rows.empty()) return absl::OkStatus();
  Job job = MakeJob(spec, shape, into.data());
  job.rows = rows.data();
  job.labels = copied.data();
  job.labels_into = labels_into.data();
  job.label_count = copied.size();
  EffectsJob all = MakeEffectsJob(job, effects, shape);
  all.labels = labels.data();
  return StartAll(all, spec, effects, shape, stream);
}

absl::Status SynthesizeWithEffectsOnDevice(const Synthetic& what, const Spec& spec,
                                           const Effects& effects, const Shape& shape,
                                           std::span<std::byte> into,
                                           std::span<int64_t> labels_into,
                                           cuda::StreamHandle stream) {
  PENSTOCK_RETURN_IF_ERROR(CheckSynthetic(what, spec, shape, into.size(), labels_into.size()));
  PENSTOCK_RETURN_IF_ERROR(CheckEffects(spec, shape, effects));
  PENSTOCK_RETURN_IF_ERROR(CheckSoftLabelsOnDevice(effects, shape, shape.rows));
  PENSTOCK_RETURN_IF_ERROR(CheckLabels({}, labels_into));
  if (effects.soft_labels != nullptr && effects.classes < what.classes)
    return absl::InvalidArgumentError(absl::StrCat("soft labels: classes: got ", effects.classes,
                                                   ", expected at least ", what.classes));
  Job job = MakeJob(spec, shape, into.data());
  if (job.elements == 0) return absl::OkStatus();
  job.synthetic = what;
  job.labels_into = labels_into.data();
  job.label_count = labels_into.size();
  return StartAll(MakeEffectsJob(job, effects, shape), spec, effects, shape, stream);
}

}  // namespace penstock::finish
