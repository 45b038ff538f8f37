// Image.rotate of Pillow, as torchvision's functional.rotate calls it. Pure.
#pragma once

#include <optional>

#include "server/augment/image.h"
#include "server/augment/scratch.h"
#include "server/augment/warp/matrix.h"
#include "server/augment/warp/sampling.h"

namespace penstock::augment {

// kToFit makes the output large enough for the whole turned image.
enum class Canvas : uint8_t { kKeep, kToFit };

struct Rotation {
  double degrees = 0;  // counterclockwise
  Canvas canvas = Canvas::kKeep;
  std::optional<Point> center = {};  // default: the image's center
};

enum class RotationKind : uint8_t { kCopy, kTurn90, kTurn180, kTurn270, kAffine };

// What a rotation of an image of a certain size does. Without a given center, multiples of 90
// degrees move whole pixels where the size allows it; all others are affine.
struct RotationPlan {
  RotationKind kind;
  ImageSize size;       // of the output
  AffineMatrix matrix;  // kAffine: from output to input
};

// **Requires** finite degrees and center, and sides below 2³⁰.
RotationPlan PlanRotation(ImageSize size, const Rotation& rotation);

// From input to output, for boxes and points, as torchvision v2 has it: the rotation, and with
// kToFit a shift that makes the smallest coordinates of the turned image's corners 0.
AffineMatrix ForwardRotation(ImageSize size, const Rotation& rotation);

// **Requires** that `out` has the plan's size, equal channels, and views that do not overlap.
// **Errors**: std::bad_alloc.
void Rotate(const ConstImageView& in, const ImageView& out, const RotationPlan& plan,
            const Sampler& sampler, Scratch& scratch);

}  // namespace penstock::augment
