#include <cstring>

#include "server/augment/warp/targets.h"
#include "tests/support/augment/operations.h"

// Operations on a box and a key point. The input's pixels don't matter, only its size; the output
// is "an image" of a row whose bytes are six floats: the mapped box and the mapped point. The first
// six parameters are the box (LEFT TOP RIGHT BOTTOM) and the point (X Y).
namespace penstock::augment {
namespace {

constexpr size_t kTargetParameters = 6;

struct Targets {
  BoundingBox box;
  KeyPoint point;
};

float ToFloat(double value) { return static_cast<float>(value); }

Targets ReadTargets(Parameters p) {
  return {{ToFloat(p[0]), ToFloat(p[1]), ToFloat(p[2]), ToFloat(p[3])},
          {ToFloat(p[4]), ToFloat(p[5])}};
}

Size TargetsSize(const ConstImageView&, Parameters) { return {sizeof(Targets), 1, 1}; }

ImageSize SizeOfImage(const ConstImageView& image) { return {image.width, image.height}; }

using TargetFunction = void (*)(Targets& targets, ImageSize size, Parameters p);

template <TargetFunction kFunction>
void ApplyToTargets(const ConstImageView& in, const ImageView& out, Parameters p, Scratch&) {
  Targets targets = ReadTargets(p);
  kFunction(targets, SizeOfImage(in), p.subspan(kTargetParameters));
  memcpy(out.data, &targets, sizeof(targets));
}

void FlipTargetsHorizontally(Targets& targets, ImageSize size, Parameters) {
  FlipHorizontal(std::span(&targets.box, 1), size);
  FlipHorizontal(std::span(&targets.point, 1), size);
}

void FlipTargetsVertically(Targets& targets, ImageSize size, Parameters) {
  FlipVertical(std::span(&targets.box, 1), size);
  FlipVertical(std::span(&targets.point, 1), size);
}

void CropTargets(Targets& targets, ImageSize, Parameters p) {
  const CropOrigin origin = {static_cast<int64_t>(p[0]), static_cast<int64_t>(p[1])};
  const ImageSize size = {static_cast<uint32_t>(p[2]), static_cast<uint32_t>(p[3])};
  Crop(std::span(&targets.box, 1), origin, size);
  Crop(std::span(&targets.point, 1), origin);
}

template <typename Matrix>
void MapTargets(Targets& targets, const Matrix& forward, ImageSize size) {
  Map(std::span(&targets.box, 1), forward, size);
  Map(std::span(&targets.point, 1), forward);
}

void MapTargetsAffinely(Targets& targets, ImageSize size, Parameters p) {
  const AffineArguments arguments = {{p[6], p[7]}, p[0], {p[1], p[2]}, p[3], {p[4], p[5]}};
  MapTargets(targets, ForwardAffineMatrix(arguments), size);
}

void RotateTargets(Targets& targets, ImageSize size, Parameters p) {
  const Rotation rotation = {p[0], p[1] != 0 ? Canvas::kToFit : Canvas::kKeep};
  MapTargets(targets, ForwardRotation(size, rotation), PlanRotation(size, rotation).size);
}

// Without an inverse, nothing is mapped.
void MapTargetsInPerspective(Targets& targets, ImageSize size, Parameters p) {
  PerspectiveCoefficients coefficients;
  for (size_t i = 0; i < 8; ++i) coefficients.c[i] = p[i];
  const auto forward = Inverse(coefficients);
  if (forward) MapTargets(targets, *forward, size);
}

constexpr Operation kTargetOperations[] = {
    {"targets-hflip", kTargetParameters, TargetsSize, ApplyToTargets<FlipTargetsHorizontally>},
    {"targets-vflip", kTargetParameters, TargetsSize, ApplyToTargets<FlipTargetsVertically>},
    // LEFT TOP WIDTH HEIGHT
    {"targets-crop", kTargetParameters + 4, TargetsSize, ApplyToTargets<CropTargets>},
    // ANGLE TRANSLATE_X TRANSLATE_Y SCALE SHEAR_X SHEAR_Y CENTER_X CENTER_Y
    {"targets-affine", kTargetParameters + 8, TargetsSize, ApplyToTargets<MapTargetsAffinely>},
    // DEGREES EXPAND
    {"targets-rotate", kTargetParameters + 2, TargetsSize, ApplyToTargets<RotateTargets>},
    // The eight coefficients of the image's map.
    {"targets-perspective", kTargetParameters + 8, TargetsSize,
     ApplyToTargets<MapTargetsInPerspective>},
};

}  // namespace

std::span<const Operation> TargetOperations() { return kTargetOperations; }

}  // namespace penstock::augment
