#include "server/rpc/target_to_domain.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"

namespace penstock::rpc {
namespace {

using base::BoxFormat;
using base::TargetKind;

constexpr uint32_t kMostFill = 255;
constexpr uint32_t kMostItemPoints = 1024;
constexpr uint32_t kMostPoint = std::numeric_limits<uint8_t>::max();

// The enums have equal values.
static_assert(static_cast<int>(TargetKind::kMask) == v1::TARGET_KIND_MASK);
static_assert(static_cast<int>(TargetKind::kWithBoxes) == v1::TARGET_KIND_WITH_BOXES);
static_assert(v1::TargetKind_MAX == v1::TARGET_KIND_WITH_BOXES);
static_assert(static_cast<int>(BoxFormat::kCorners) == v1::BOX_FORMAT_CORNERS);
static_assert(static_cast<int>(BoxFormat::kCenterAndSize) == v1::BOX_FORMAT_CENTER_AND_SIZE);
static_assert(v1::BoxFormat_MAX == v1::BOX_FORMAT_CENTER_AND_SIZE);

template <typename... Words>
absl::Status WrongTarget(const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat(words...));
}

absl::StatusOr<TargetKind> KindFrom(int kind) {
  if (kind > 0 && kind <= v1::TargetKind_MAX) return static_cast<TargetKind>(kind);
  if (kind == v1::TARGET_KIND_UNSPECIFIED)
    return WrongTarget("kind is missing; leave the target out if the field is none");
  return WrongTarget(
      "kind: wanted TARGET_KIND_MASK (1), TARGET_KIND_BOXES (2), TARGET_KIND_POINTS (3) ",
      "or TARGET_KIND_WITH_BOXES (4), got ", kind, "; upgrade the daemon if the client knows it");
}

absl::StatusOr<BoxFormat> FormatFrom(int format) {
  if (format >= 0 && format <= v1::BoxFormat_MAX) return static_cast<BoxFormat>(format);
  return WrongTarget(
      "box_format: wanted BOX_FORMAT_CORNERS (0), BOX_FORMAT_CORNER_AND_SIZE (1) or ",
      "BOX_FORMAT_CENTER_AND_SIZE (2), got ", format,
      "; upgrade the daemon if the client knows it");
}

absl::Status CheckOptions(const v1::Target& message) {
  const v1::TargetKind kind = message.kind();
  const bool has_positions = kind == v1::TARGET_KIND_BOXES || kind == v1::TARGET_KIND_POINTS;
  const auto unused = [&](absl::string_view option, absl::string_view whose) {
    return WrongTarget(option, " is set, which only ", whose, " have; leave it out for ",
                       v1::TargetKind_Name(kind));
  };
  if (message.box_format() != 0 && kind != v1::TARGET_KIND_BOXES)
    return unused("box_format", "boxes");
  if (message.relative() && !has_positions) return unused("relative", "boxes and points");
  if (message.fill() != 0 && kind != v1::TARGET_KIND_MASK) return unused("fill", "masks");
  if (message.has_min_side() && kind != v1::TARGET_KIND_BOXES) return unused("min_side", "boxes");
  if (message.point_pairs_size() > 0 && kind != v1::TARGET_KIND_POINTS)
    return unused("point_pairs", "points");
  if (message.point_numbers() != 0 && kind != v1::TARGET_KIND_POINTS)
    return unused("point_numbers", "points");
  if (message.item_points() != 0 && kind != v1::TARGET_KIND_POINTS)
    return unused("item_points", "points");
  return absl::OkStatus();
}

// Whether the numbers are points of the field is known once its dataset is.
absl::Status TakePairs(const v1::Target& message, base::TargetSpec& target) {
  const int count = message.point_pairs_size();
  if (count % 2 != 0)
    return WrongTarget("point_pairs: wanted two numbers for each pair, got ", count, " numbers");
  if (count / 2 > static_cast<int>(base::kMostPointPairs))
    return WrongTarget("point_pairs: wanted at most ", base::kMostPointPairs, " pairs, got ",
                       count / 2);
  bool in_pair[kMostPoint + 1] = {};
  for (int i = 0; i < count; ++i) {
    const uint32_t point = message.point_pairs(i);
    if (point > kMostPoint)
      return WrongTarget("point_pairs: wanted numbers from 0 to ", kMostPoint, ", got ", point);
    if (in_pair[point])
      return WrongTarget("point_pairs: wanted each point once, got ", point, " twice");
    in_pair[point] = true;
    target.pair[i] = static_cast<uint8_t>(point);
  }
  target.pairs = static_cast<uint32_t>(count / 2);
  return absl::OkStatus();
}

// The shape of points that are a list of numbers.
absl::Status TakePointShape(const v1::Target& message, base::TargetSpec& target) {
  target.numbers = message.point_numbers();
  target.item_points = message.item_points();
  if (target.numbers != 0 && target.numbers != 2 && target.numbers != 3)
    return WrongTarget("point_numbers: wanted 2 or 3, or 0 for the field's own shape, got ",
                       target.numbers);
  if (target.item_points > kMostItemPoints)
    return WrongTarget("item_points: wanted at most ", kMostItemPoints, ", got ",
                       target.item_points);
  if (target.item_points != 0 && target.numbers == 0)
    return WrongTarget("item_points is set without point_numbers; set both, or none");
  return absl::OkStatus();
}

absl::StatusOr<float> MinSideFrom(const v1::Target& message, float usual) {
  if (!message.has_min_side()) return usual;
  const float side = message.min_side();
  if (std::isfinite(side) && side >= 0) return side + 0.0f;  // not -0
  return WrongTarget("min_side: wanted a number of pixels of at least 0, got ", side);
}

}  // namespace

absl::StatusOr<base::TargetSpec> TargetFrom(const v1::Target& message) {
  base::TargetSpec target;
  PENSTOCK_ASSIGN_OR_RETURN(target.kind, KindFrom(message.kind()));
  PENSTOCK_ASSIGN_OR_RETURN(target.format, FormatFrom(message.box_format()));
  PENSTOCK_RETURN_IF_ERROR(CheckOptions(message));
  target.relative = message.relative() ? 1 : 0;
  if (message.fill() > kMostFill)
    return WrongTarget("fill: wanted 0 to ", kMostFill, ", got ", message.fill());
  target.fill = message.fill();
  PENSTOCK_ASSIGN_OR_RETURN(target.min_side, MinSideFrom(message, target.min_side));
  PENSTOCK_RETURN_IF_ERROR(TakePairs(message, target));
  PENSTOCK_RETURN_IF_ERROR(TakePointShape(message, target));
  return target;
}

absl::StatusOr<source::FieldRequest> FieldRequestFrom(const v1::FieldRequest& message) {
  source::FieldRequest request = {
      .name = message.name(), .most = message.max_length(), .as_stored = message.as_stored()};
  if (!message.has_target()) return request;
  if (message.as_stored())
    return WrongTarget("feed.fields: '", message.name(),
                       "' has as_stored and a target; leave one of both out");
  absl::StatusOr<base::TargetSpec> target = TargetFrom(message.target());
  if (!target.ok())
    return base::Annotate(target.status(),
                          absl::StrCat("feed.fields: the target of '", message.name(), "'"));
  request.target = *target;
  return request;
}

void FillTarget(const base::TargetSpec& target, v1::Target& message) {
  message.set_kind(static_cast<v1::TargetKind>(target.kind));
  message.set_box_format(static_cast<v1::BoxFormat>(target.format));
  message.set_relative(target.relative != 0);
  message.set_fill(target.fill);
  if (target.kind == TargetKind::kBoxes) message.set_min_side(target.min_side);
  message.set_point_numbers(target.numbers);
  message.set_item_points(target.item_points);
  message.mutable_point_pairs()->Add(target.pair, target.pair + 2 * target.pairs);
}

}  // namespace penstock::rpc
