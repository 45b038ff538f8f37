// The matrices of torchvision's affine, rotate and perspective for Pillow's images. Pure.
//
// All use IEEE doubles, rounded after each operation in Python's order, and the sine, cosine and
// tangent of angles.h, which differ from the C library's, Python's, in the last bit now and then.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace penstock::augment {

struct Point {
  double x, y;
};

struct ImageSize {
  uint32_t width, height;

  Point center() const { return {width * 0.5, height * 0.5}; }
};

// (x, y) ↦ (a0 x + a1 y + a2, a3 x + a4 y + a5)
struct AffineMatrix {
  double a[6];

  Point Map(Point p) const {
    return {a[0] * p.x + a[1] * p.y + a[2], a[3] * p.x + a[4] * p.y + a[5]};
  }
};

// (x, y) ↦ ((c0 x + c1 y + c2) / d, (c3 x + c4 y + c5) / d), d = c6 x + c7 y + 1
struct PerspectiveCoefficients {
  double c[8];
};

// The arguments of torchvision's functional.affine. Angles are in degrees; `angle` turns clockwise.
// **Requires** scale > 0, finite numbers, and angles of at most 10⁵ degrees.
struct AffineArguments {
  Point center;
  double angle = 0;
  Point translate = {0, 0};
  double scale = 1;
  Point shear = {0, 0};
};

// From output to input, which is what images need, and from input to output, which boxes and points
// need. (torchvision's _get_inverse_affine_matrix with inverted=True and False.)
AffineMatrix InverseAffineMatrix(const AffineArguments& arguments);
AffineMatrix ForwardAffineMatrix(const AffineArguments& arguments);

// The arguments with which RandAugment, TrivialAugmentWide, AutoAugment and AugMix call
// functional.affine for a magnitude (with its sign).
AffineArguments ShearX(double magnitude);
AffineArguments ShearY(double magnitude);
AffineArguments TranslateX(ImageSize size, double magnitude);  // whole pixels, cut toward zero
AffineArguments TranslateY(ImageSize size, double magnitude);

struct PixelCorner {
  int32_t x, y;
};
using Corners = std::array<PixelCorner, 4>;  // top left, top right, bottom right, bottom left
inline constexpr int32_t kMaxCorner = 32768;

// The coefficients that map `end` to `start`, from output to input: the exact solution of the eight
// linear equations of torchvision's _get_perspective_coeffs, rounded to the nearest floats. (The
// last rounding is that of a quotient with a relative error of at most 2⁻¹⁰⁰.)
//
// None if a coordinate exceeds kMaxCorner in size, or if the equations have no solution or several:
// if three of the corners before lie on a line, if two lines hold three of those after, or if the
// map takes the output's (0, 0) to infinity.
std::optional<PerspectiveCoefficients> SolvePerspective(const Corners& start, const Corners& end);

// The inverse, from input to output, which boxes and points need. None if it does not exist in the
// form above.
std::optional<PerspectiveCoefficients> Inverse(const PerspectiveCoefficients& coefficients);

}  // namespace penstock::augment
