#include <cmath>

#include "absl/strings/str_cat.h"
#include "client/finish/effects/effects.h"

namespace penstock::finish {
namespace {

constexpr uint32_t kMostSide = 65535;  // a kernel takes boxes as 16-bit numbers

bool Inside(const PixelBox& box, const Shape& shape) {
  return uint64_t{box.x} + box.width <= shape.width && uint64_t{box.y} + box.height <= shape.height;
}

absl::Status BadBox(absl::string_view what, const PixelBox& box, const Shape& shape) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": got a box of ", box.width, " x ", box.height, " at (", box.x, ", ",
                   box.y, "), expected one within ", shape.width, " x ", shape.height));
}

absl::Status CheckFill(const Spec& spec, const Effects& effects) {
  const bool bytes = spec.type == Type::kUInt8;
  if (bytes && effects.fill == EraseFill::kNoise)
    return absl::InvalidArgumentError(
        "erasing: fill: got noise for an output of uint8, expected a value; request a float type");
  for (const float value : effects.value) {
    if (!std::isfinite(value))
      return absl::InvalidArgumentError(
          absl::StrCat("erasing: value: got ", value, ", expected a finite number"));
    if (bytes && !(value >= 0 && value <= 255 && value == std::floor(value)))
      return absl::InvalidArgumentError(
          absl::StrCat("erasing: value: got ", value,
                       " for an output of uint8, expected a whole number of 0 to 255"));
  }
  return absl::OkStatus();
}

absl::Status CheckErasures(const Spec& spec, const Shape& shape, const Effects& effects) {
  if (effects.erasures.empty()) return absl::OkStatus();
  if (effects.erasures.size() != shape.rows)
    return absl::InvalidArgumentError(absl::StrCat(
        "erasing: got boxes for ", effects.erasures.size(), " rows, expected ", shape.rows));
  if (shape.channels > kEffectChannels)
    return absl::InvalidArgumentError(absl::StrCat("erasing: got images of ", shape.channels,
                                                   " channels, expected at most ",
                                                   kEffectChannels));
  for (const Erasure& erasure : effects.erasures)
    if (!Inside(erasure.box, shape)) return BadBox("erasing", erasure.box, shape);
  return CheckFill(spec, effects);
}

absl::Status CheckMix(const Spec& spec, const Shape& shape, const Mix& mix) {
  if (!(mix.share >= 0 && mix.share <= 1))
    return absl::InvalidArgumentError(
        absl::StrCat("mix: share: got ", mix.share, ", expected 0 to 1"));
  if (mix.kind == MixKind::kNone) return absl::OkStatus();
  if (spec.type == Type::kUInt8)
    return absl::InvalidArgumentError(
        "mix: got an output of uint8, expected a float type: MixUp and CutMix mix finished values; "
        "request float32, float16 or bfloat16");
  if (mix.kind == MixKind::kCutMix && !Inside(mix.box, shape)) return BadBox("mix", mix.box, shape);
  return absl::OkStatus();
}

}  // namespace

bool HasEffects(const Effects& effects) {
  return !effects.erasures.empty() || effects.mix.kind != MixKind::kNone ||
         effects.soft_labels != nullptr;
}

absl::Status CheckEffects(const Spec& spec, const Shape& shape, const Effects& effects) {
  if (shape.height > kMostSide || shape.width > kMostSide)
    return absl::InvalidArgumentError(absl::StrCat("effects: got images of ", shape.width, " x ",
                                                   shape.height, ", expected sides of at most ",
                                                   kMostSide));
  PENSTOCK_RETURN_IF_ERROR(CheckErasures(spec, shape, effects));
  return CheckMix(spec, shape, effects.mix);
}

absl::Status CheckSoftLabels(const Effects& effects, uint32_t rows,
                             std::span<const int64_t> labels) {
  if (effects.soft_labels == nullptr) return absl::OkStatus();
  if (effects.classes == 0)
    return absl::InvalidArgumentError("soft labels: classes: got 0, expected at least 1");
  if (labels.size() != rows)
    return absl::InvalidArgumentError(
        absl::StrCat("soft labels: got ", labels.size(), " labels, expected ", rows));
  for (const int64_t label : labels)
    if (label < 0 || label >= effects.classes)
      return absl::InvalidArgumentError(absl::StrCat("soft labels: label: got ", label,
                                                     ", expected 0 to ", effects.classes - 1,
                                                     "; classes is the number of all classes"));
  return absl::OkStatus();
}

}  // namespace penstock::finish
