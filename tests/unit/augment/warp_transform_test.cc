// Affine and perspective maps of pixels, and rotations: values that can be checked by hand, and
// places where arithmetic could fail.
#include <gtest/gtest.h>

#include <cmath>

#include "server/augment/warp/rotate.h"
#include "server/augment/warp/transform.h"
#include "tests/unit/augment/warp_images.h"

namespace penstock::augment {
namespace {

constexpr Sampling kAllSamplings[] = {Sampling::kNearest, Sampling::kBilinear, Sampling::kBicubic};

Bytes Mapped(const TestImage& in, const AffineMatrix& matrix, const Sampler& sampler) {
  TestImage out(in.width, in.height, in.channels, Bytes(in.pixels.size(), 99));
  Scratch scratch;
  Affine(in, out, matrix, sampler, scratch);
  return out.pixels;
}

Bytes InPerspective(const TestImage& in, const PerspectiveCoefficients& c, const Sampler& sampler) {
  TestImage out(in.width, in.height, in.channels, Bytes(in.pixels.size(), 99));
  Perspective(in, out, c, sampler);
  return out.pixels;
}

Bytes Rotated(const TestImage& in, const Rotation& rotation, const Sampler& sampler = {}) {
  const RotationPlan plan = PlanRotation({in.width, in.height}, rotation);
  TestImage out(plan.size.width, plan.size.height, in.channels);
  Scratch scratch;
  Rotate(in, out, plan, sampler, scratch);
  return out.pixels;
}

TEST(AffineTest, NothingKeepsEveryPixel) {
  for (const Sampling sampling : kAllSamplings) {
    for (const uint32_t channels : {1u, 3u}) {
      const TestImage image = Noise(21, 9, channels);
      EXPECT_EQ(Mapped(image, {{1, 0, 0, 0, 1, 0}}, {sampling, {}}), image.pixels);
      EXPECT_EQ(InPerspective(image, {{1, 0, 0, 0, 1, 0, 0, 0}}, {sampling, {}}), image.pixels);
    }
  }
}

TEST(AffineTest, WholePixelsAreShiftedAndTheRestIsFilled) {
  const TestImage image(2, 1, 3, {1, 2, 3, 4, 5, 6});
  for (const Sampling sampling : kAllSamplings) {
    EXPECT_EQ(Mapped(image, {{1, 0, 1, 0, 1, 0}}, {sampling, {{7, 8, 9}}}),
              (Bytes{4, 5, 6, 7, 8, 9}));
    EXPECT_EQ(Mapped(image, {{1, 0, 0, 0, 1, -1}}, {sampling, {{7, 8, 9}}}),
              (Bytes{7, 8, 9, 7, 8, 9}));
  }
}

TEST(AffineTest, BilinearIsCutAndRepeatsTheEdge) {
  const TestImage image = Gray(3, {10, 21, 30});

  const Sampler sampler = {Sampling::kBilinear, {{99, 0, 0}}};

  EXPECT_EQ(Mapped(image, {{1, 0, 0.25, 0, 1, 0}}, sampler), (Bytes{12, 23, 30}));
  EXPECT_EQ(Mapped(image, {{1, 0, 0.5, 0, 1, 0}}, sampler), (Bytes{15, 25, 99}));
}

TEST(AffineTest, BicubicOvershootsAndIsClipped) {
  const TestImage image = Gray(6, {0, 0, 0, 255, 255, 255});

  const Bytes half = Mapped(image, {{1, 0, 0.5, 0, 1, 0}}, {Sampling::kBicubic, {}});

  EXPECT_EQ(half[1], 0);    // below 0
  EXPECT_EQ(half[2], 127);  // in the middle
  EXPECT_EQ(half[3], 255);  // above 255
}

TEST(AffineTest, FillsWhatIsFarAway) {
  const TestImage image = Noise(5, 4, 1);
  for (const Sampling sampling : kAllSamplings) {
    for (const double far : {1e3, 4e4, 1e10, 1e300}) {
      EXPECT_EQ(Mapped(image, {{1, 0.1, far, 0.1, 1, 0}}, {sampling, {{7, 0, 0}}}), Bytes(20, 7));
      EXPECT_EQ(Mapped(image, {{1, 0, 0, 0, 1, -far}}, {sampling, {{7, 0, 0}}}), Bytes(20, 7));
    }
  }
}

TEST(AffineTest, OnePixelCanBeMappedInAnyWay) {
  const TestImage pixel(1, 1, 3, {1, 2, 3});
  for (const Sampling sampling : kAllSamplings) {
    EXPECT_EQ(Mapped(pixel, {{60000, 0, 0, 0, 60000, 0}}, {sampling, {{7, 8, 9}}}),
              (Bytes{7, 8, 9}));
    EXPECT_EQ(Mapped(pixel, {{1e-9, 1e-9, 0.5, 0, 0, 0.5}}, {sampling, {{7, 8, 9}}}),
              (Bytes{1, 2, 3}));
  }
}

TEST(PerspectiveTest, APositionThatIsNotANumberIsBlackOrFilled) {
  // Divides by zero at x = 0.5, where the numerators are zero as well.
  const PerspectiveCoefficients coefficients = {{1, 0, -0.5, 0, 0, 0, -2, 0}};
  const TestImage image = Gray(1, {50});

  EXPECT_EQ(InPerspective(image, coefficients, {Sampling::kNearest, {{7, 0, 0}}}), Bytes{7});
  EXPECT_EQ(InPerspective(image, coefficients, {Sampling::kBilinear, {{7, 0, 0}}}), Bytes{0});
  EXPECT_EQ(InPerspective(image, coefficients, {Sampling::kBicubic, {{7, 0, 0}}}), Bytes{0});
}

TEST(RotateTest, MultiplesOf90DegreesMoveWholePixels) {
  const TestImage image = Gray(2, {1, 2, 3, 4});

  EXPECT_EQ(Rotated(image, {0}), image.pixels);
  EXPECT_EQ(Rotated(image, {-720}), image.pixels);
  EXPECT_EQ(Rotated(image, {90}), (Bytes{2, 4, 1, 3}));
  EXPECT_EQ(Rotated(image, {180}), (Bytes{4, 3, 2, 1}));
  EXPECT_EQ(Rotated(image, {-90}), (Bytes{3, 1, 4, 2}));
}

TEST(RotateTest, OnlyAnExpandedCanvasChangesItsSize) {
  const auto size = [](double degrees, Canvas canvas) {
    const ImageSize size = PlanRotation({30, 10}, {degrees, canvas, {}}).size;
    return std::pair(size.width, size.height);
  };

  EXPECT_EQ(size(90, Canvas::kKeep), std::pair(30u, 10u));
  EXPECT_EQ(size(90, Canvas::kToFit), std::pair(10u, 30u));
  EXPECT_EQ(size(180, Canvas::kToFit), std::pair(30u, 10u));
  EXPECT_EQ(size(45, Canvas::kToFit), std::pair(30u, 30u));
}

TEST(RotateTest, AGivenCenterIsAlwaysAffine) {
  const TestImage image = Gray(2, {1, 2, 3, 4});
  const Rotation rotation = {90, Canvas::kKeep, Point{0, 0}};

  EXPECT_EQ(PlanRotation({2, 2}, rotation).kind, RotationKind::kAffine);
  EXPECT_EQ(Rotated(image, rotation, {Sampling::kNearest, {{9, 0, 0}}}), Bytes(4, 9));
}

TEST(RotateTest, SinesAreRoundedTo15Places) {
  const AffineMatrix matrix = PlanRotation({2, 4}, {90, Canvas::kKeep, {}}).matrix;

  EXPECT_EQ(matrix.a[0], 0);  // the cosine is 6e-17
  EXPECT_EQ(matrix.a[1], -1);
}

}  // namespace
}  // namespace penstock::augment
