// With E and S the projective maps from the unit square to the corners after and before, the matrix
// sought is S · E⁻¹. Both have integer elements (Heckbert, "Fundamentals of texture mapping and
// image warping", 1989, 2.2.3, times the divisor), and so has S · adj(E), which differs by a
// factor. It is computed without rounding; only the last division rounds.
#include <algorithm>
#include <array>
#include <cmath>

#include "server/augment/warp/double_double.h"
#include "server/augment/warp/matrix.h"

namespace penstock::augment {
namespace {

using Int128 = __int128;

// high · 2⁶⁴ + low
struct Int192 {
  Int128 high = 0;
  uint64_t low = 0;
};

Int192 operator+(Int192 a, Int192 b) {
  const uint64_t low = a.low + b.low;
  return {a.high + b.high + (low < a.low ? 1 : 0), low};
}

// Requires |a| < 2⁶³ and a product of less than 190 bits.
Int192 Multiply(int64_t a, Int128 b) {
  const auto low = static_cast<uint64_t>(b);
  const auto high = static_cast<int64_t>(b >> 64);
  const Int128 part = static_cast<Int128>(a) * low;
  return {static_cast<Int128>(a) * high + (part >> 64), static_cast<uint64_t>(part)};
}

DoubleDouble ToDoubleDouble(uint64_t value) {
  const uint64_t low = value & 0xffffffff;
  return DoubleDouble{static_cast<double>(value - low)} + DoubleDouble{static_cast<double>(low)};
}

// `high` has far less than 106 bits, so this is exact until the last sum.
DoubleDouble ToDoubleDouble(Int192 value) {
  const double top = static_cast<double>(value.high);
  const double rest = static_cast<double>(value.high - static_cast<Int128>(top));
  const DoubleDouble scaled = {top * 0x1p64, rest * 0x1p64};
  return scaled + ToDoubleDouble(value.low);
}

// Elements, row by row.
struct IntegerMatrix {
  std::array<int64_t, 9> m;
};

// Maps (0, 0), (1, 0), (1, 1) and (0, 1) to the corners, in order. With coordinates of at most 2¹⁵,
// the elements of the last row are below 2³⁶ and the others below 2⁵³.
IntegerMatrix FromUnitSquare(const Corners& p) {
  const int64_t dx1 = int64_t{p[1].x} - p[2].x, dy1 = int64_t{p[1].y} - p[2].y;
  const int64_t dx2 = int64_t{p[3].x} - p[2].x, dy2 = int64_t{p[3].y} - p[2].y;
  const int64_t sx = int64_t{p[0].x} - p[1].x + p[2].x - p[3].x;
  const int64_t sy = int64_t{p[0].y} - p[1].y + p[2].y - p[3].y;
  const int64_t g = sx * dy2 - dx2 * sy;
  const int64_t h = dx1 * sy - sx * dy1;
  const int64_t i = dx1 * dy2 - dx2 * dy1;
  const auto row = [&](int64_t v0, int64_t v1, int64_t v3) {
    return std::array<int64_t, 3>{(v1 - v0) * i + g * v1, (v3 - v0) * i + h * v3, v0 * i};
  };
  const auto x = row(p[0].x, p[1].x, p[3].x), y = row(p[0].y, p[1].y, p[3].y);
  return {{x[0], x[1], x[2], y[0], y[1], y[2], g, h, i}};
}

// The inverse times the determinant; below 2¹⁰⁷.
std::array<Int128, 9> Adjugate(const IntegerMatrix& matrix) {
  const auto& m = matrix.m;
  const auto minor = [&](int a, int b, int c, int d) {
    return static_cast<Int128>(m[a]) * m[d] - static_cast<Int128>(m[b]) * m[c];
  };
  return {minor(4, 5, 7, 8), minor(2, 1, 8, 7), minor(1, 2, 4, 5),
          minor(5, 3, 8, 6), minor(0, 2, 6, 8), minor(2, 0, 5, 3),
          minor(3, 4, 6, 7), minor(1, 0, 7, 6), minor(0, 1, 3, 4)};
}

std::array<Int192, 9> Product(const IntegerMatrix& a, const std::array<Int128, 9>& b) {
  std::array<Int192, 9> product;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      Int192 sum;
      for (int k = 0; k < 3; ++k) sum = sum + Multiply(a.m[3 * row + k], b[3 * k + column]);
      product[3 * row + column] = sum;
    }
  }
  return product;
}

// Homogeneous coordinates of the line through two points; 0 for equal ones.
struct Line {
  int64_t x, y, z;

  bool Has(PixelCorner p) const { return x * p.x + y * p.y + z == 0; }
};

Line Through(PixelCorner a, PixelCorner b) {
  return {int64_t{a.y} - b.y, int64_t{b.x} - a.x, int64_t{a.x} * b.y - int64_t{b.x} * a.y};
}

bool InRange(const Corners& p) {
  return std::all_of(p.begin(), p.end(), [](PixelCorner corner) {
    return corner.x <= kMaxCorner && corner.x >= -kMaxCorner && corner.y <= kMaxCorner &&
           corner.y >= -kMaxCorner;
  });
}

// Whether the three corners other than `corner` lie on a line.
bool OthersOnOneLine(const Corners& p, int corner) {
  return Through(p[(corner + 1) % 4], p[(corner + 2) % 4]).Has(p[(corner + 3) % 4]);
}

// kTriangle: exactly three corners lie on a line, and `alone` is the other one.
enum class Shape { kQuadrangle, kTriangle, kNeither };
struct ShapeOfCorners {
  Shape shape;
  int alone;
};

ShapeOfCorners FindShape(const Corners& p) {
  ShapeOfCorners found = {Shape::kQuadrangle, 0};
  for (int corner = 0; corner < 4; ++corner) {
    if (!OthersOnOneLine(p, corner)) continue;
    if (found.shape != Shape::kQuadrangle) return {Shape::kNeither, 0};
    found = {Shape::kTriangle, corner};
  }
  return found;
}

Int192 Widen(int64_t value) { return Multiply(value, 1); }

// If three corners after lie on a line, the equations still have a solution: it takes the line to
// 0/0, and all other pixels to the one corner before that is left.
std::array<Int192, 9> Collapse(PixelCorner target, const Corners& end, int alone) {
  const Line line = Through(end[(alone + 1) % 4], end[(alone + 2) % 4]);
  std::array<Int192, 9> product;
  const int64_t weights[3] = {target.x, target.y, 1};
  for (int row = 0; row < 3; ++row) {
    product[3 * row] = Widen(weights[row] * line.x);
    product[3 * row + 1] = Widen(weights[row] * line.y);
    product[3 * row + 2] = Widen(weights[row] * line.z);
  }
  return product;
}

// The float nearest to high + low. Rounding `high` alone errs if it lies on a tie.
float NearestFloat(DoubleDouble value) {
  const float near = static_cast<float>(value.high);
  const double distance = value.high - near;  // exact
  if (distance == 0 || value.low == 0) return near;
  const float other = std::nextafter(near, distance > 0 ? INFINITY : -INFINITY);
  const bool tie = std::fabs(distance) == std::fabs(static_cast<double>(other) - value.high);
  if (!tie) return near;
  return (value.low > 0) == (other > near) ? other : near;
}

}  // namespace

std::optional<PerspectiveCoefficients> SolvePerspective(const Corners& start, const Corners& end) {
  if (!InRange(start) || !InRange(end)) return std::nullopt;
  const ShapeOfCorners after = FindShape(end);
  if (FindShape(start).shape != Shape::kQuadrangle || after.shape == Shape::kNeither) {
    return std::nullopt;
  }
  const auto product = after.shape == Shape::kQuadrangle
                           ? Product(FromUnitSquare(start), Adjugate(FromUnitSquare(end)))
                           : Collapse(start[after.alone], end, after.alone);
  const DoubleDouble divisor = ToDoubleDouble(product[8]);
  if (divisor.high == 0) return std::nullopt;
  PerspectiveCoefficients result;
  for (int i = 0; i < 8; ++i) result.c[i] = NearestFloat(ToDoubleDouble(product[i]) / divisor);
  return result;
}

std::optional<PerspectiveCoefficients> Inverse(const PerspectiveCoefficients& coefficients) {
  const double* const c = coefficients.c;
  const double scale = c[0] * c[4] - c[1] * c[3];
  if (scale == 0 || !std::isfinite(scale)) return std::nullopt;
  return PerspectiveCoefficients{
      {(c[4] - c[5] * c[7]) / scale, (-c[1] + c[2] * c[7]) / scale,
       (c[1] * c[5] - c[2] * c[4]) / scale, (-c[3] + c[5] * c[6]) / scale,
       (c[0] - c[2] * c[6]) / scale, (-c[0] * c[5] + c[2] * c[3]) / scale,
       (-c[4] * c[6] + c[3] * c[7]) / scale, (-c[0] * c[7] + c[1] * c[6]) / scale}};
}

}  // namespace penstock::augment
