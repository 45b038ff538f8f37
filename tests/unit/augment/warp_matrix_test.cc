// The matrices of affine maps, rotations and perspectives, and what they do to boxes and points.
#include <gtest/gtest.h>

#include <cmath>

#include "server/augment/warp/matrix.h"
#include "server/augment/warp/targets.h"

namespace penstock::augment {
namespace {

constexpr Corners kWhole = {{{0, 0}, {499, 0}, {499, 374}, {0, 374}}};

void ExpectBox(const BoundingBox& box, float left, float top, float right, float bottom) {
  EXPECT_FLOAT_EQ(box.left, left);
  EXPECT_FLOAT_EQ(box.top, top);
  EXPECT_FLOAT_EQ(box.right, right);
  EXPECT_FLOAT_EQ(box.bottom, bottom);
}

TEST(AffineMatrixTest, PoliciesShearByTheTangentAndTranslateByWholePixels) {
  const AffineMatrix shear = InverseAffineMatrix(ShearX(0.3));
  const AffineMatrix translate = InverseAffineMatrix(TranslateY({10, 20}, -3.9));

  EXPECT_NEAR(shear.a[1], 0.3, 1e-15);
  EXPECT_EQ(shear.a[3], 0);
  EXPECT_EQ(translate.a[2], 0);
  EXPECT_EQ(translate.a[5], 3);
}

TEST(AffineMatrixTest, ForwardUndoesInverse) {
  const AffineArguments arguments = {{20, 30}, 33, {5, -6}, 1.7, {10, 20}};

  const Point there = ForwardAffineMatrix(arguments).Map({3, 4});
  const Point back = InverseAffineMatrix(arguments).Map(there);

  EXPECT_NEAR(back.x, 3, 1e-12);
  EXPECT_NEAR(back.y, 4, 1e-12);
}

TEST(PerspectiveTest, TheSameCornersGiveExactlyTheIdentity) {
  const auto solution = SolvePerspective(kWhole, kWhole);

  const double identity[8] = {1, 0, 0, 0, 1, 0, 0, 0};
  ASSERT_TRUE(solution);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(solution->c[i], identity[i]) << i;
}

TEST(PerspectiveTest, MapsTheCornersAfterToThoseBefore) {
  const Corners end = {{{30, 20}, {460, 10}, {480, 350}, {10, 360}}};
  const auto solution = SolvePerspective(kWhole, end);

  ASSERT_TRUE(solution);
  KeyPoint points[] = {{30, 20}, {460, 10}, {480, 350}, {10, 360}};
  Map(points, *solution);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(points[i].x, kWhole[i].x, 1e-3) << i;
    EXPECT_NEAR(points[i].y, kWhole[i].y, 1e-3) << i;
  }
  for (const double c : solution->c) EXPECT_EQ(c, static_cast<float>(c));
}

TEST(PerspectiveTest, TheLargestCornersAreSolved) {
  constexpr int32_t k = kMaxCorner;
  const Corners start = {{{-k, -k}, {k, -k + 1}, {k - 1, k}, {-k, k - 3}}};
  const Corners end = {{{-k + 5, -k}, {k, -k}, {k - 9, k}, {-k, k}}};
  const auto solution = SolvePerspective(start, end);

  ASSERT_TRUE(solution);
  KeyPoint points[] = {{k - 9, k}};
  Map(points, *solution);
  EXPECT_NEAR(points[0].x, k - 1, 1);
  EXPECT_NEAR(points[0].y, k, 1);
}

TEST(PerspectiveTest, ThreeCornersOnALineCollapseTheImageToTheFourth) {
  const Corners end = {{{6, 3}, {11, 0}, {9, 6}, {7, 4}}};
  const auto solution = SolvePerspective(kWhole, end);

  ASSERT_TRUE(solution);
  KeyPoint points[] = {{11, 0}, {100, 50}, {3, 200}};
  Map(points, *solution);
  for (const KeyPoint& point : points) {
    EXPECT_NEAR(point.x, 499, 1e-3);
    EXPECT_NEAR(point.y, 0, 1e-3);
  }
}

TEST(PerspectiveTest, CornersThatDetermineNoMapAreRefused) {
  const Corners line = {{{0, 0}, {1, 1}, {2, 2}, {0, 5}}};  // through the output's (0, 0)
  const Corners all_on_a_line = {{{1, 0}, {2, 1}, {3, 2}, {4, 3}}};
  const Corners equal = {{{1, 2}, {1, 2}, {5, 5}, {0, 7}}};
  const Corners far = {{{0, 0}, {kMaxCorner + 1, 0}, {9, 9}, {0, 9}}};
  // The output's (0, 0) lies on the line that is mapped to infinity.
  const Corners horizon = {{{-1, 1}, {1, 1}, {2, 2}, {-2, 2}}};
  const Corners square = {{{0, 0}, {1, 0}, {1, 1}, {0, 1}}};

  for (const Corners& end : {line, all_on_a_line, equal, far}) {
    EXPECT_FALSE(SolvePerspective(kWhole, end));
    EXPECT_FALSE(SolvePerspective(end, kWhole));
  }
  EXPECT_FALSE(SolvePerspective(square, horizon));
}

TEST(PerspectiveTest, InverseUndoesIt) {
  const Corners end = {{{30, 20}, {460, 10}, {480, 350}, {10, 360}}};
  const PerspectiveCoefficients there = *SolvePerspective(kWhole, end);
  KeyPoint points[] = {{100, 200}};

  Map(points, there);
  Map(points, *Inverse(there));

  EXPECT_NEAR(points[0].x, 100, 1e-3);
  EXPECT_NEAR(points[0].y, 200, 1e-3);
  EXPECT_FALSE(Inverse({{0, 0, 1, 0, 0, 1, 1, 1}}));
}

TEST(BoxesTest, FlipsKeepTheOrderOfSides) {
  BoundingBox boxes[] = {{1, 2, 4, 8}};

  FlipHorizontal(boxes, {10, 20});
  ExpectBox(boxes[0], 6, 2, 9, 8);
  FlipVertical(boxes, {10, 20});
  ExpectBox(boxes[0], 6, 12, 9, 18);
}

TEST(BoxesTest, CropsClip) {
  BoundingBox boxes[] = {{1, 2, 4, 8}, {20, 20, 30, 30}};

  Crop(boxes, {3, 4}, {5, 3});

  ExpectBox(boxes[0], 0, 0, 1, 3);
  ExpectBox(boxes[1], 5, 3, 5, 3);
}

TEST(BoxesTest, ATurnedBoxIsTheSmallestAroundItsCorners) {
  BoundingBox boxes[] = {{1, 2, 4, 8}};
  const ImageSize size = {10, 20};
  const Rotation rotation = {90, Canvas::kToFit, {}};

  Map(boxes, ForwardRotation(size, rotation), PlanRotation(size, rotation).size);

  ExpectBox(boxes[0], 2, 6, 8, 9);
}

TEST(KeyPointsTest, FlipsCountPixels) {
  KeyPoint points[] = {{0, 19}};

  FlipHorizontal(points, {10, 20});
  FlipVertical(points, {10, 20});
  Crop(points, {-1, -2});

  EXPECT_EQ(points[0].x, 10);
  EXPECT_EQ(points[0].y, 2);
}

}  // namespace
}  // namespace penstock::augment
