#include <array>

#include "server/augment/warp/flip.h"
#include "server/augment/warp/frame.h"
#include "server/augment/warp/matrix.h"
#include "server/augment/warp/rotate.h"
#include "server/augment/warp/transform.h"
#include "tests/support/augment/operations.h"

// Parameters common to several: SAMPLING (0 nearest, 2 bilinear, 3 bicubic) and FILL (three
// values), which come first.
namespace penstock::augment {
namespace {

constexpr size_t kSamplerParameters = 4;

uint8_t ToByte(double value) { return static_cast<uint8_t>(value); }

Fill ToFill(Parameters p) { return {{ToByte(p[0]), ToByte(p[1]), ToByte(p[2])}}; }

Sampler ToSampler(Parameters p) {
  return {static_cast<Sampling>(static_cast<int>(p[0])), ToFill(p.subspan(1))};
}

Parameters AfterSampler(Parameters p) { return p.subspan(kSamplerParameters); }

ImageSize SizeOf(const ConstImageView& image) { return {image.width, image.height}; }

// ANGLE TRANSLATE_X TRANSLATE_Y SCALE SHEAR_X SHEAR_Y HAS_CENTER CENTER_X CENTER_Y
AffineArguments ToAffine(const ConstImageView& in, Parameters p) {
  return {
      p[6] != 0 ? Point{p[7], p[8]} : SizeOf(in).center(), p[0], {p[1], p[2]}, p[3], {p[4], p[5]}};
}

// DEGREES EXPAND HAS_CENTER CENTER_X CENTER_Y
Rotation ToRotation(Parameters p) {
  Rotation rotation = {p[0], p[1] != 0 ? Canvas::kToFit : Canvas::kKeep, {}};
  if (p[2] != 0) rotation.center = Point{p[3], p[4]};
  return rotation;
}

RotationPlan ToPlan(const ConstImageView& in, Parameters p) {
  return PlanRotation(SizeOf(in), ToRotation(AfterSampler(p)));
}

// LEFT TOP RIGHT BOTTOM
Padding ToPadding(Parameters p) {
  return {static_cast<int32_t>(p[0]), static_cast<int32_t>(p[1]), static_cast<int32_t>(p[2]),
          static_cast<int32_t>(p[3])};
}

Corners ToCorners(Parameters p) {
  Corners corners;
  for (size_t i = 0; i < corners.size(); ++i) {
    corners[i] = {static_cast<int32_t>(p[2 * i]), static_cast<int32_t>(p[2 * i + 1])};
  }
  return corners;
}

// What is no image is left black.
void PerspectiveByCorners(const ConstImageView& in, const ImageView& out, Parameters p, Scratch&) {
  const Parameters corners = AfterSampler(p);
  const auto solution = SolvePerspective(ToCorners(corners), ToCorners(corners.subspan(8)));
  if (solution) Perspective(in, out, *solution, ToSampler(p));
}

void PerspectiveByCoefficients(const ConstImageView& in, const ImageView& out, Parameters p,
                               Scratch&) {
  PerspectiveCoefficients coefficients;
  for (size_t i = 0; i < 8; ++i) coefficients.c[i] = AfterSampler(p)[i];
  Perspective(in, out, coefficients, ToSampler(p));
}

using Policy = AffineArguments (*)(ImageSize size, double magnitude);

template <Policy kPolicy>
void ApplyPolicy(const ConstImageView& in, const ImageView& out, Parameters p, Scratch& scratch) {
  const AffineArguments arguments = kPolicy(SizeOf(in), AfterSampler(p)[0]);
  Affine(in, out, InverseAffineMatrix(arguments), ToSampler(p), scratch);
}

AffineArguments ShearXOfAny(ImageSize, double magnitude) { return ShearX(magnitude); }
AffineArguments ShearYOfAny(ImageSize, double magnitude) { return ShearY(magnitude); }

constexpr Operation kWarpOperations[] = {
    {"hflip", 0, SameSize,
     [](const ConstImageView&, const ImageView& image, Parameters, Scratch& scratch) {
       FlipHorizontal(image, scratch);
     }},
    {"vflip", 0, SameSize,
     [](const ConstImageView&, const ImageView& image, Parameters, Scratch& scratch) {
       FlipVertical(image, scratch);
     }},
    // LEFT TOP WIDTH HEIGHT
    {"crop", 4,
     [](const ConstImageView& in, Parameters p) {
       return Size{static_cast<uint32_t>(p[2]), static_cast<uint32_t>(p[3]), in.channels};
     },
     [](const ConstImageView& in, const ImageView& out, Parameters p, Scratch&) {
       Crop(in, out, {static_cast<int64_t>(p[0]), static_cast<int64_t>(p[1])});
     }},
    // LEFT TOP RIGHT BOTTOM MODE FILL FILL FILL, MODE: 0 constant, 1 edge, 2 reflect, 3 symmetric
    {"pad", 8,
     [](const ConstImageView& in, Parameters p) {
       const auto mode = static_cast<PadMode>(static_cast<int>(p[4]));
       const auto size = PaddedSize(SizeOf(in), ToPadding(p), mode);
       return size ? Size{size->width, size->height, in.channels} : Size{};
     },
     [](const ConstImageView& in, const ImageView& out, Parameters p, Scratch& scratch) {
       if (out.pixels() == 0) return;
       const auto mode = static_cast<PadMode>(static_cast<int>(p[4]));
       Pad(in, out, ToPadding(p), {mode, ToFill(p.subspan(5))}, scratch);
     }},
    {"affine", kSamplerParameters + 9, SameSize,
     [](const ConstImageView& in, const ImageView& out, Parameters p, Scratch& scratch) {
       const AffineMatrix matrix = InverseAffineMatrix(ToAffine(in, AfterSampler(p)));
       Affine(in, out, matrix, ToSampler(p), scratch);
     }},
    // The matrix's six numbers, then the output's WIDTH and HEIGHT.
    {"transform", kSamplerParameters + 8,
     [](const ConstImageView& in, Parameters p) {
       return Size{static_cast<uint32_t>(p[10]), static_cast<uint32_t>(p[11]), in.channels};
     },
     [](const ConstImageView& in, const ImageView& out, Parameters p, Scratch& scratch) {
       const Parameters a = AfterSampler(p);
       Affine(in, out, {{a[0], a[1], a[2], a[3], a[4], a[5]}}, ToSampler(p), scratch);
     }},
    {"rotate", kSamplerParameters + 5,
     [](const ConstImageView& in, Parameters p) {
       const ImageSize size = ToPlan(in, p).size;
       return Size{size.width, size.height, in.channels};
     },
     [](const ConstImageView& in, const ImageView& out, Parameters p, Scratch& scratch) {
       Rotate(in, out, ToPlan(in, p), ToSampler(p), scratch);
     }},
    // The eight coefficients.
    {"perspective", kSamplerParameters + 8, SameSize, PerspectiveByCoefficients},
    // The four corners before, and the four after: x and y of each.
    {"perspective-corners", kSamplerParameters + 16, SameSize, PerspectiveByCorners},
    // MAGNITUDE
    {"shear-x", kSamplerParameters + 1, SameSize, ApplyPolicy<ShearXOfAny>},
    {"shear-y", kSamplerParameters + 1, SameSize, ApplyPolicy<ShearYOfAny>},
    {"translate-x", kSamplerParameters + 1, SameSize, ApplyPolicy<TranslateX>},
    {"translate-y", kSamplerParameters + 1, SameSize, ApplyPolicy<TranslateY>},
};

}  // namespace

std::span<const Operation> WarpOperations() { return kWarpOperations; }

}  // namespace penstock::augment
