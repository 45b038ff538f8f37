#include "server/decode/core/spec.h"

#include <cmath>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/shm/row_note.h"

namespace penstock::decode {
namespace {

constexpr uint32_t kMaxSide = 16384;

absl::Status ValidateSide(absl::string_view name, uint32_t side) {
  if (side >= 1 && side <= kMaxSide) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": wanted 1 to ", kMaxSide, " pixels, got ",
                                                 side, "; choose one in that range"));
}

absl::Status ValidateRange(absl::string_view name, double min, double max) {
  if (min > 0 && min <= max && std::isfinite(max)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": wanted 0 < min <= max, got ", min,
                                                 " and ", max, "; give the smaller one first"));
}

absl::Status ValidateCenterCrop(const Spec& spec) {
  PENSTOCK_RETURN_IF_ERROR(ValidateSide("resize", spec.resize));
  if (spec.resize >= spec.height && spec.resize >= spec.width) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("resize: wanted at least the crop's ", spec.height,
                                                 "x", spec.width, ", got ", spec.resize,
                                                 "; enlarge resize or shrink the crop"));
}

absl::Status ValidateChoices(const Spec& spec) {
  if (spec.color != Color::kRgb && spec.color != Color::kGray) {
    return absl::InvalidArgumentError(
        absl::StrCat("color: wanted RGB (0) or gray (1), got ", static_cast<uint32_t>(spec.color)));
  }
  if (spec.exif != Exif::kIgnore && spec.exif != Exif::kApply) {
    return absl::InvalidArgumentError(absl::StrCat("exif: wanted ignore (0) or apply (1), got ",
                                                   static_cast<uint32_t>(spec.exif)));
  }
  if (const auto number = static_cast<uint32_t>(spec.interpolation);
      number >= base::kInterpolations) {
    return absl::InvalidArgumentError(absl::StrCat(
        "interpolation: wanted nearest (0), lanczos (1), bilinear (2) or bicubic (3), got ",
        number));
  }
  return absl::OkStatus();
}

absl::Status ValidateGeometry(const Spec& spec) {
  switch (spec.geometry) {
    case Geometry::kRandomResizedCrop:
      PENSTOCK_RETURN_IF_ERROR(ValidateRange("scale", spec.scale_min, spec.scale_max));
      return ValidateRange("ratio", spec.ratio_min, spec.ratio_max);
    case Geometry::kResizeCenterCrop:
      return ValidateCenterCrop(spec);
    case Geometry::kWhole:
      if (spec.flip_probability == 0) return absl::OkStatus();
      return absl::InvalidArgumentError(
          absl::StrCat("flip_probability: wanted 0 for whole images, got ", spec.flip_probability,
                       "; add RandomHorizontalFlip to the transforms"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "geometry: wanted random_resized_crop (1), resize_center_crop (2) or whole (3), got ",
      static_cast<uint32_t>(spec.geometry)));
}

absl::Status ValidateCanvas(const Spec& spec) {
  if (spec.canvas == 0 || (spec.canvas == 1 && spec.geometry == Geometry::kWhole))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("canvas: wanted true for whole images only, got ",
                                                 spec.canvas,
                                                 "; leave it out, as all images have one size"));
}

absl::Status ValidateUndecoded(const Spec& spec) {
  const uint32_t bytes = spec.undecoded.place_bytes;
  if (bytes == 0) return absl::OkStatus();
  const size_t least = PixelBytes(spec) + sizeof(shm::RowNote);
  if (bytes % kPlaceAlignment != 0 || bytes < least || bytes > kMostPlaceBytes)
    return absl::InvalidArgumentError(absl::StrCat("undecoded.place_bytes: wanted a multiple of ",
                                                   kPlaceAlignment, " from ", least, " to ",
                                                   kMostPlaceBytes, ", got ", bytes));
  if (spec.color == Color::kRgb && spec.geometry != Geometry::kWhole && spec.recipe.empty())
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      "undecoded: the consumer's GPU makes rows by RandomResizedCrop, or by Resize and CenterCrop, "
      "in RGB, with a horizontal flip; leave out other transforms, or decode on the CPU");
}

absl::Status ValidateRecipe(const Spec& spec) {
  PENSTOCK_RETURN_IF_ERROR(augment::Validate(spec.recipe));
  std::optional<augment::ImageSize> before;
  if (spec.geometry != Geometry::kWhole) before = {spec.width, spec.height};
  const std::optional<augment::ImageSize> after = augment::SizeAfter(spec.recipe, before);
  if (spec.canvas != 0 && (!after || (after->width <= spec.width && after->height <= spec.height)))
    return absl::OkStatus();
  if (!after) {
    return absl::InvalidArgumentError(
        "transforms: images may differ in size after the last step: a batch needs one size; end "
        "with RandomCrop or CenterCrop, outside of groups, or deliver them on a canvas");
  }
  if (after->width == spec.width && after->height == spec.height) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("transforms: wrong size after the last step: got ", after->height, "x",
                   after->width, ", expected the row's ", spec.height, "x", spec.width,
                   "; end with RandomCrop or CenterCrop of that size"));
}

}  // namespace

absl::Status Validate(const Spec& spec) {
  PENSTOCK_RETURN_IF_ERROR(ValidateChoices(spec));
  PENSTOCK_RETURN_IF_ERROR(ValidateSide("height", spec.height));
  PENSTOCK_RETURN_IF_ERROR(ValidateSide("width", spec.width));
  if (!(spec.flip_probability >= 0 && spec.flip_probability <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("flip_probability: wanted 0 to 1, got ",
                                                   spec.flip_probability,
                                                   "; 0.5 flips every other row"));
  }
  PENSTOCK_RETURN_IF_ERROR(ValidateGeometry(spec));
  PENSTOCK_RETURN_IF_ERROR(ValidateCanvas(spec));
  PENSTOCK_RETURN_IF_ERROR(ValidateUndecoded(spec));
  return ValidateRecipe(spec);
}

}  // namespace penstock::decode
