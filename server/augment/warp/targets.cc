#include "server/augment/warp/targets.h"

#include <algorithm>
#include <utility>

namespace penstock::augment {
namespace {

float ToFloat(double value) { return static_cast<float>(value); }

// The smallest box around some points, as doubles.
struct Bounds {
  Point least, most;

  void Include(Point p) {
    least = {std::min(least.x, p.x), std::min(least.y, p.y)};
    most = {std::max(most.x, p.x), std::max(most.y, p.y)};
  }
};

BoundingBox Clipped(const Bounds& bounds, ImageSize size) {
  const double w = size.width, h = size.height;
  return {ToFloat(std::clamp(bounds.least.x, 0.0, w)), ToFloat(std::clamp(bounds.least.y, 0.0, h)),
          ToFloat(std::clamp(bounds.most.x, 0.0, w)), ToFloat(std::clamp(bounds.most.y, 0.0, h))};
}

Point MapPoint(const AffineMatrix& matrix, Point p) { return matrix.Map(p); }

Point MapPoint(const PerspectiveCoefficients& coefficients, Point p) {
  const double* const c = coefficients.c;
  const double divisor = c[6] * p.x + c[7] * p.y + 1;
  return {(c[0] * p.x + c[1] * p.y + c[2]) / divisor, (c[3] * p.x + c[4] * p.y + c[5]) / divisor};
}

template <typename Matrix>
void MapBoxes(std::span<BoundingBox> boxes, const Matrix& matrix, ImageSize output) {
  for (BoundingBox& box : boxes) {
    const Point first = MapPoint(matrix, {box.left, box.top});
    Bounds bounds = {first, first};
    bounds.Include(MapPoint(matrix, {box.right, box.top}));
    bounds.Include(MapPoint(matrix, {box.right, box.bottom}));
    bounds.Include(MapPoint(matrix, {box.left, box.bottom}));
    box = Clipped(bounds, output);
  }
}

template <typename Matrix>
void MapPoints(std::span<KeyPoint> points, const Matrix& matrix) {
  for (KeyPoint& point : points) {
    const Point mapped = MapPoint(matrix, {point.x, point.y});
    point = {ToFloat(mapped.x), ToFloat(mapped.y)};
  }
}

}  // namespace

void FlipHorizontal(std::span<BoundingBox> boxes, ImageSize size) {
  for (BoundingBox& box : boxes) {
    box.left = ToFloat(size.width - double{box.left});
    box.right = ToFloat(size.width - double{box.right});
    std::swap(box.left, box.right);
  }
}

void FlipVertical(std::span<BoundingBox> boxes, ImageSize size) {
  for (BoundingBox& box : boxes) {
    box.top = ToFloat(size.height - double{box.top});
    box.bottom = ToFloat(size.height - double{box.bottom});
    std::swap(box.top, box.bottom);
  }
}

void FlipHorizontal(std::span<KeyPoint> points, ImageSize size) {
  for (KeyPoint& point : points) point.x = ToFloat(size.width - 1.0 - point.x);
}

void FlipVertical(std::span<KeyPoint> points, ImageSize size) {
  for (KeyPoint& point : points) point.y = ToFloat(size.height - 1.0 - point.y);
}

void Crop(std::span<BoundingBox> boxes, CropOrigin origin, ImageSize output) {
  const double left = static_cast<double>(origin.left), top = static_cast<double>(origin.top);
  for (BoundingBox& box : boxes) {
    box = Clipped({{box.left - left, box.top - top}, {box.right - left, box.bottom - top}}, output);
  }
}

void Crop(std::span<KeyPoint> points, CropOrigin origin) {
  for (KeyPoint& point : points) {
    point = {ToFloat(point.x - static_cast<double>(origin.left)),
             ToFloat(point.y - static_cast<double>(origin.top))};
  }
}

void Map(std::span<BoundingBox> boxes, const AffineMatrix& forward, ImageSize output) {
  MapBoxes(boxes, forward, output);
}

void Map(std::span<KeyPoint> points, const AffineMatrix& forward) { MapPoints(points, forward); }

void Map(std::span<BoundingBox> boxes, const PerspectiveCoefficients& forward, ImageSize output) {
  MapBoxes(boxes, forward, output);
}

void Map(std::span<KeyPoint> points, const PerspectiveCoefficients& forward) {
  MapPoints(points, forward);
}

}  // namespace penstock::augment
