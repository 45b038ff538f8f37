#include "server/decode/core/placement.h"

#include <gtest/gtest.h>

namespace penstock::decode {
namespace {

Placement Centered(uint32_t width, uint32_t height, Spec spec = {}) {
  spec.geometry = Geometry::kResizeCenterCrop;
  return Place(spec, {{0, 0, width, height}, false});
}

TEST(PlacementTest, ARandomCropIsResizedWhole) {
  const Placement placement = Place({}, {{5, 6, 70, 80}, true});

  EXPECT_EQ(placement.crop.x, 5u);
  EXPECT_EQ(placement.x.in, 70u);
  EXPECT_EQ(placement.x.out, 224u);
  EXPECT_EQ(placement.y.in, 80u);
  EXPECT_EQ(placement.y.first, 0u);
  EXPECT_EQ(placement.y.count, 224u);
  EXPECT_TRUE(placement.flip);
}

TEST(PlacementTest, TheSpecsInterpolationIsUsedForBothGeometries) {
  const Spec spec = {.interpolation = base::Interpolation::kLanczos};

  EXPECT_EQ(Place(spec, {{0, 0, 300, 300}, false}).interpolation, spec.interpolation);
  EXPECT_EQ(Centered(300, 300, spec).interpolation, spec.interpolation);
}

TEST(PlacementTest, TheLongerSideIsRoundedDown) {
  EXPECT_EQ(Centered(500, 375).x.out, 341u);  // 341.33
  EXPECT_EQ(Centered(500, 375).y.out, 256u);
  EXPECT_EQ(Centered(333, 500).y.out, 384u);  // 384.38
}

TEST(PlacementTest, TheMiddleIsRoundedHalfToEven) {
  EXPECT_EQ(Centered(500, 375).x.first, 58u);                  // 58.5
  EXPECT_EQ(Centered(500, 375, {.width = 222}).x.first, 60u);  // 59.5
  EXPECT_EQ(Centered(500, 375).y.first, 16u);
}

TEST(PlacementTest, AnImageOfOneColumnIsStretched) {
  const Placement placement = Centered(1, 65500);

  EXPECT_EQ(placement.x.out, 256u);
  EXPECT_EQ(placement.y.out, 256u * 65500u);
}

}  // namespace
}  // namespace penstock::decode
