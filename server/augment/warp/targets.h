// Boxes and key points through the same geometry as their image, as torchvision v2's functional
// calls for BoundingBoxes (XYXY) and KeyPoints. Pure.
//
// Coordinates are floats in pixels. Boxes measure from the image's edges: a box of the whole image
// is (0, 0, width, height). Points of flips count pixels: (0, 0) is the first one. Numbers are
// computed in double and rounded once, so they differ from torchvision's float arithmetic by its
// rounding errors.
#pragma once

#include <span>

#include "server/augment/warp/frame.h"
#include "server/augment/warp/matrix.h"
#include "server/augment/warp/rotate.h"

namespace penstock::augment {

struct BoundingBox {
  float left, top, right, bottom;
};

struct KeyPoint {
  float x, y;
};

// Flips: boxes become width - x, points width - 1 - x. Nothing is clipped.
void FlipHorizontal(std::span<BoundingBox> boxes, ImageSize size);
void FlipHorizontal(std::span<KeyPoint> points, ImageSize size);
void FlipVertical(std::span<BoundingBox> boxes, ImageSize size);
void FlipVertical(std::span<KeyPoint> points, ImageSize size);

// Crop; and Pad, whose origin is (-left, -top). Boxes are clipped to `output`, the new image's
// size. torchvision knows boxes and points for constant padding alone.
void Crop(std::span<BoundingBox> boxes, CropOrigin origin, ImageSize output);
void Crop(std::span<KeyPoint> points, CropOrigin origin);

// A box becomes the smallest one around its four mapped corners, clipped to `output`. The matrix is
// ForwardAffineMatrix's or ForwardRotation's.
//
// For rotations with Canvas::kToFit, `output` is Pillow's size (RotationPlan); torchvision clips to
// a size that it computes on its own, which may be larger or smaller by a pixel.
void Map(std::span<BoundingBox> boxes, const AffineMatrix& forward, ImageSize output);
void Map(std::span<KeyPoint> points, const AffineMatrix& forward);

// The same with Inverse(coefficients).
void Map(std::span<BoundingBox> boxes, const PerspectiveCoefficients& forward, ImageSize output);
void Map(std::span<KeyPoint> points, const PerspectiveCoefficients& forward);

}  // namespace penstock::augment
