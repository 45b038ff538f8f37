#include "server/augment/warp/matrix.h"

#include <cmath>
#include <numbers>

#include "server/augment/warp/angles.h"

namespace penstock::augment {
namespace {

double Radians(double degrees) { return degrees * (std::numbers::pi / 180.0); }
double Degrees(double radians) { return radians * (180.0 / std::numbers::pi); }

// Rotation and shears without the scale: [a b; c d], with determinant 1.
struct Linear {
  double a, b, c, d;
};

Linear RotateAndShear(const AffineArguments& arguments) {
  const double rot = Radians(arguments.angle);
  const double sx = Radians(arguments.shear.x);
  const double sy = Radians(arguments.shear.y);
  return {Cosine(rot - sy) / Cosine(sy), -Cosine(rot - sy) * Tangent(sx) / Cosine(sy) - Sine(rot),
          Sine(rot - sy) / Cosine(sy), -Sine(rot - sy) * Tangent(sx) / Cosine(sy) + Cosine(rot)};
}

AffineArguments ShearBy(Point degrees) { return {.center = {0, 0}, .shear = degrees}; }

AffineArguments TranslateBy(ImageSize size, Point pixels) {
  return {.center = size.center(), .translate = pixels};
}

}  // namespace

AffineMatrix InverseAffineMatrix(const AffineArguments& arguments) {
  const Linear m = RotateAndShear(arguments);
  const double scale = arguments.scale;
  const Point back = {-arguments.center.x - arguments.translate.x,
                      -arguments.center.y - arguments.translate.y};
  AffineMatrix matrix = {m.d / scale, -m.b / scale, 0, -m.c / scale, m.a / scale, 0};
  double* const a = matrix.a;
  a[2] += a[0] * back.x + a[1] * back.y;
  a[5] += a[3] * back.x + a[4] * back.y;
  a[2] += arguments.center.x;
  a[5] += arguments.center.y;
  return matrix;
}

AffineMatrix ForwardAffineMatrix(const AffineArguments& arguments) {
  const Linear m = RotateAndShear(arguments);
  const double scale = arguments.scale;
  const Point center = arguments.center;
  AffineMatrix matrix = {m.a * scale, m.b * scale, 0, m.c * scale, m.d * scale, 0};
  double* const a = matrix.a;
  a[2] += a[0] * -center.x + a[1] * -center.y;
  a[5] += a[3] * -center.x + a[4] * -center.y;
  a[2] += center.x + arguments.translate.x;
  a[5] += center.y + arguments.translate.y;
  return matrix;
}

AffineArguments ShearX(double magnitude) { return ShearBy({Degrees(Arctangent(magnitude)), 0}); }
AffineArguments ShearY(double magnitude) { return ShearBy({0, Degrees(Arctangent(magnitude))}); }

AffineArguments TranslateX(ImageSize size, double magnitude) {
  return TranslateBy(size, {std::trunc(magnitude), 0});
}

AffineArguments TranslateY(ImageSize size, double magnitude) {
  return TranslateBy(size, {0, std::trunc(magnitude)});
}

}  // namespace penstock::augment
