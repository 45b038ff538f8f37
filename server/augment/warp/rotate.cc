#include "server/augment/warp/rotate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numbers>

#include "server/augment/warp/angles.h"
#include "server/augment/warp/flip.h"
#include "server/augment/warp/transform.h"

namespace penstock::augment {
namespace {

// Python's `degrees % 360.0`. A tiny negative angle becomes 360.
double Normalized(double degrees) {
  const double rest = std::fmod(degrees, 360.0);
  return rest < 0 ? rest + 360.0 : rest;
}

// Python's round(value, 15) for values in [-1, 1]: to the nearest decimal of 15 places, by the
// exact value; then to the double nearest to that.
double RoundTo15(double value) {
  char text[32];
  const auto written =
      std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed, 15);
  double rounded = value;
  std::from_chars(text, written.ptr, rounded);
  return rounded;
}

AffineMatrix TurnMatrix(double degrees, Point center) {
  const double angle = -(degrees * (std::numbers::pi / 180.0));
  const double cosine = Cosine(angle), sine = Sine(angle);
  AffineMatrix matrix = {
      {RoundTo15(cosine), RoundTo15(sine), 0, RoundTo15(-sine), RoundTo15(cosine), 0}};
  const Point shift = matrix.Map({-center.x, -center.y});
  matrix.a[2] = shift.x + center.x;
  matrix.a[5] = shift.y + center.y;
  return matrix;
}

std::array<Point, 4> MapCorners(ImageSize size, const AffineMatrix& matrix) {
  const double w = size.width, h = size.height;
  return {matrix.Map({0, 0}), matrix.Map({w, 0}), matrix.Map({w, h}), matrix.Map({0, h})};
}

struct Extent {
  Point least, most;
};

Extent MapExtent(ImageSize size, const AffineMatrix& matrix) {
  const auto corners = MapCorners(size, matrix);
  Extent extent = {corners[0], corners[0]};
  for (const Point& p : corners) {
    extent.least = {std::min(extent.least.x, p.x), std::min(extent.least.y, p.y)};
    extent.most = {std::max(extent.most.x, p.x), std::max(extent.most.y, p.y)};
  }
  return extent;
}

// Changes the plan so that the output holds the whole image, in its middle.
void Expand(RotationPlan& plan) {
  const Extent extent = MapExtent(plan.size, plan.matrix);
  const double width = std::ceil(extent.most.x) - std::floor(extent.least.x);
  const double height = std::ceil(extent.most.y) - std::floor(extent.least.y);
  const Point shift =
      plan.matrix.Map({-(width - plan.size.width) / 2.0, -(height - plan.size.height) / 2.0});
  plan.matrix.a[2] = shift.x;
  plan.matrix.a[5] = shift.y;
  plan.size = {static_cast<uint32_t>(width), static_cast<uint32_t>(height)};
}

std::optional<RotationKind> WholeTurn(ImageSize size, double degrees, Canvas canvas) {
  if (degrees == 0) return RotationKind::kCopy;
  if (degrees == 180) return RotationKind::kTurn180;
  if (canvas == Canvas::kKeep && size.width != size.height) return std::nullopt;
  if (degrees == 90) return RotationKind::kTurn90;
  if (degrees == 270) return RotationKind::kTurn270;
  return std::nullopt;
}

}  // namespace

RotationPlan PlanRotation(ImageSize size, const Rotation& rotation) {
  const double degrees = Normalized(rotation.degrees);
  if (!rotation.center) {
    const std::optional<RotationKind> turn = WholeTurn(size, degrees, rotation.canvas);
    const bool swap = turn == RotationKind::kTurn90 || turn == RotationKind::kTurn270;
    if (turn) return {*turn, swap ? ImageSize{size.height, size.width} : size, {}};
  }
  RotationPlan plan = {RotationKind::kAffine, size,
                       TurnMatrix(degrees, rotation.center.value_or(size.center()))};
  if (rotation.canvas == Canvas::kToFit) Expand(plan);
  return plan;
}

AffineMatrix ForwardRotation(ImageSize size, const Rotation& rotation) {
  AffineMatrix matrix = ForwardAffineMatrix(
      {.center = rotation.center.value_or(size.center()), .angle = -rotation.degrees});
  if (rotation.canvas == Canvas::kToFit) {
    const Point least = MapExtent(size, matrix).least;
    matrix.a[2] -= least.x;
    matrix.a[5] -= least.y;
  }
  return matrix;
}

void Rotate(const ConstImageView& in, const ImageView& out, const RotationPlan& plan,
            const Sampler& sampler, Scratch& scratch) {
  switch (plan.kind) {
    case RotationKind::kCopy:
      memcpy(out.data, in.data, in.bytes());
      break;
    case RotationKind::kTurn90:
      Turn90(in, out);
      break;
    case RotationKind::kTurn180:
      Turn180(in, out);
      break;
    case RotationKind::kTurn270:
      Turn270(in, out);
      break;
    case RotationKind::kAffine:
      Affine(in, out, plan.matrix, sampler, scratch);
      break;
  }
}

}  // namespace penstock::augment
