#include <gtest/gtest.h>

#include "tests/support/augment/recipe_maker.h"

namespace penstock::augment {
namespace {

constexpr ImageSize kRow = {64, 48};

// "WxH", or "unknown".
std::string After(const TransformRecipe& recipe, std::optional<ImageSize> before) {
  const std::optional<ImageSize> size = SizeAfter(recipe, before);
  if (!size) return "unknown";
  return std::to_string(size->width) + "x" + std::to_string(size->height);
}

TEST(SizeAfterTest, MostStepsKeepTheSize) {
  EXPECT_EQ(After({}, kRow), "64x48");
  EXPECT_EQ(After(MakeRecipe({MakeStep(Op::kRotation), MakeStep(Op::kColorJitter),
                              MakeStep(Op::kAugMix), MakeStep(Op::kHorizontalFlip)}),
                  kRow),
            "64x48");
}

TEST(SizeAfterTest, CropsSetTheSizeAndPadsEnlargeIt) {
  const Step crop = MakeStep(Op::kRandomCrop, {32, 40}), center = MakeStep(Op::kCenterCrop, {7, 9});
  const Step pad = MakeStep(Op::kPad, {1, 2, 3, 4});

  EXPECT_EQ(After(MakeRecipe({crop}), std::nullopt), "40x32");
  EXPECT_EQ(After(MakeRecipe({crop, center}), kRow), "9x7");
  EXPECT_EQ(After(MakeRecipe({pad}), kRow), "68x54");
  EXPECT_EQ(After(MakeRecipe({crop, pad}), std::nullopt), "44x38");
  EXPECT_EQ(After(MakeRecipe({pad}), std::nullopt), "unknown");
  EXPECT_EQ(After(MakeRecipe({MakeStep(Op::kPad, {-64, 0, 0, 0})}), kRow), "unknown");
}

TEST(SizeAfterTest, ResizesSetBothSidesOrTheShorterOne) {
  const TransformRecipe fixed = MakeRecipe({MakeStep(Op::kResize, {20, 30})});
  const TransformRecipe shorter = MakeRecipe({MakeStep(Op::kResize, {24})});
  const TransformRecipe limited = MakeRecipe({MakeStep(Op::kResize, {24, 0, 27})});

  EXPECT_EQ(After(fixed, std::nullopt), "30x20");
  EXPECT_EQ(After(shorter, kRow), "32x24");
  EXPECT_EQ(After(shorter, ImageSize{10, 25}), "24x60");
  EXPECT_EQ(After(shorter, std::nullopt), "unknown");
  EXPECT_EQ(After(limited, kRow), "27x20");
  EXPECT_EQ(After(MakeRecipe({MakeStep(Op::kRandomResizedCrop, {5, 6, 0.1, 1, 1, 1})}), kRow),
            "6x5");
  EXPECT_EQ(After(MakeRecipe({MakeStep(Op::kScaleJitter, {9, 9, 1, 1})}), kRow), "unknown");
  EXPECT_EQ(After(MakeRecipe({MakeStep(Op::kRandomShortestSize, {0, 9})}), kRow), "unknown");
  EXPECT_EQ(After(MakeRecipe({MakeStep(Op::kRandomResize, {9, 12})}), kRow), "unknown");
}

TEST(SizeAfterTest, ExpandedRotationsLeaveItUnknown) {
  Step expand = MakeStep(Op::kRotation, {-5, 5});
  expand.flags = kExpand;

  EXPECT_EQ(After(MakeRecipe({expand}), kRow), "unknown");
  EXPECT_EQ(After(MakeRecipe({expand, MakeStep(Op::kCenterCrop, {8, 8})}), kRow), "8x8");
}

TEST(SizeAfterTest, GroupsThatMayOrMayNotChangeItLeaveItUnknown) {
  const Step flip = MakeStep(Op::kHorizontalFlip), crop = MakeStep(Op::kRandomCrop, {8, 8});
  const Step same = MakeStep(Op::kRandomCrop, {48, 64});

  EXPECT_EQ(After(MakeRecipe({MakeStep(Op::kCompose, {}, 2), flip, crop}), kRow), "8x8");
  EXPECT_EQ(After(MakeRecipe({MakeStep(Op::kRandomApply, {}, 2), flip, crop}), kRow), "unknown");
  EXPECT_EQ(After(MakeRecipe({MakeStep(Op::kRandomApply, {}, 2), flip, same}), kRow), "64x48");
  EXPECT_EQ(After(MakeRecipe({MakeStep(Op::kRandomChoice, {}, 2), flip, crop}), kRow), "unknown");
  EXPECT_EQ(After(MakeRecipe({MakeStep(Op::kRandomChoice, {}, 2), crop, crop}), kRow), "8x8");
  EXPECT_EQ(After(MakeRecipe({MakeStep(Op::kRandomOrder, {}, 2), flip, crop}), kRow), "unknown");
  EXPECT_EQ(After(MakeRecipe({MakeStep(Op::kRandomOrder, {}, 2), flip, same}), kRow), "64x48");
}

TEST(MovesPixelsTest, ColoursDoNot) {
  EXPECT_FALSE(MovesPixels({}));
  EXPECT_FALSE(MovesPixels(MakeRecipe({MakeStep(Op::kColorJitter), MakeStep(Op::kInvert)})));
  EXPECT_FALSE(MovesPixels(MakeRecipe({MakeStep(Op::kRandomApply, {}, 1), MakeStep(Op::kInvert)})));
  EXPECT_TRUE(MovesPixels(MakeRecipe({MakeStep(Op::kInvert), MakeStep(Op::kVerticalFlip)})));
  EXPECT_TRUE(MovesPixels(MakeRecipe({MakeStep(Op::kAutoAugment)})));
}

}  // namespace
}  // namespace penstock::augment
