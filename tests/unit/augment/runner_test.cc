#include "server/augment/recipe/runner.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/support/augment/recipe_maker.h"

namespace penstock::augment {
namespace {

std::vector<uint8_t> Noise(size_t bytes) {
  std::mt19937 engine(5);
  std::vector<uint8_t> noise(bytes);
  for (uint8_t& byte : noise) byte = static_cast<uint8_t>(engine());
  return noise;
}

TransformRecipe Training() {
  return MakeRecipe({MakeStep(Op::kRotation, {-30, 30}), MakeStep(Op::kRandAugment, {4, 20, 31}),
                     MakeStep(Op::kAugMix, {3, 3, -1, 1}),
                     MakeStep(Op::kColorJitter, {0.5, 1.5, 0.5, 1.5, 0.5, 1.5, -0.1, 0.1}),
                     MakeStep(Op::kAffine, {-9, 9, 0.1, 0.1, 0.9, 1.1})});
}

class RunnerTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  static constexpr uint32_t kWidth = 37, kHeight = 29;

  ImageView View(std::vector<uint8_t>& pixels) const {
    return {pixels.data(), kWidth, kHeight, GetParam()};
  }
  std::vector<uint8_t> Start() const { return Noise(size_t{kWidth} * kHeight * GetParam()); }
};

TEST_P(RunnerTest, ARowInPlaceAndASeparateRowGetTheSameBytes) {
  RecipeRunner one({}), other({});
  for (uint64_t sample = 0; sample < 50; ++sample) {
    std::vector<uint8_t> in_place = Start(), image = Start(), row(image.size());
    const base::DrawSource source = {.seed = 1, .epoch = 2, .sample = sample};

    ASSERT_EQ(one.Run(Training(), source, View(in_place), View(in_place)), RecipeOutcome::kDone);
    ASSERT_EQ(other.Run(Training(), source, View(image), View(row)), RecipeOutcome::kDone);

    EXPECT_EQ(in_place, row);
    EXPECT_NE(row, Start());
  }
}

TEST_P(RunnerTest, ResultsDoNotDependOnEarlierImages) {
  RecipeRunner used({});
  for (uint64_t sample = 0; sample < 20; ++sample) {
    std::vector<uint8_t> a = Start(), b = Start();
    const base::DrawSource source = {.seed = 1, .epoch = 2, .sample = sample};
    RecipeRunner fresh({});

    used.Run(Training(), source, View(a), View(a));
    fresh.Run(Training(), source, View(b), View(b));

    EXPECT_EQ(a, b);
  }
}

TEST_P(RunnerTest, AnEmptyRecipeCopies) {
  RecipeRunner runner({});
  std::vector<uint8_t> image = Start(), row(image.size());
  EXPECT_EQ(runner.Run({}, {}, View(image), View(row)), RecipeOutcome::kDone);
  EXPECT_EQ(row, Start());
}

INSTANTIATE_TEST_SUITE_P(Channels, RunnerTest, ::testing::Values(1u, 3u));

RecipeOutcome PlanFor(const Step& step, ImageSize size, RecipeLimits limits = {}) {
  std::vector<RecipeAction> actions;
  return MakePlan(MakeRecipe({step}), {}, size, limits, &actions);
}

TEST(MakePlanTest, RefusesImagesThatAreTooSmallForAStep) {
  const Step crop = MakeStep(Op::kRandomCrop, {32, 32}),
             blur = MakeStep(Op::kGaussianBlur, {9, 9, 1, 1});
  EXPECT_EQ(PlanFor(crop, {32, 32}), RecipeOutcome::kDone);
  EXPECT_EQ(PlanFor(crop, {31, 32}), RecipeOutcome::kTooSmall);
  EXPECT_EQ(PlanFor(crop, {32, 31}), RecipeOutcome::kTooSmall);
  EXPECT_EQ(PlanFor(blur, {5, 5}), RecipeOutcome::kDone);
  EXPECT_EQ(PlanFor(blur, {4, 5}), RecipeOutcome::kTooSmall);
  EXPECT_EQ(PlanFor(MakeStep(Op::kPad, {-3, 0, -2, 0}), {5, 5}), RecipeOutcome::kTooSmall);
}

TEST(MakePlanTest, RefusesImagesBeyondTheLimits) {
  const Step pad = MakeStep(Op::kPad, {10, 10, 10, 10});
  EXPECT_EQ(PlanFor(pad, {80, 80}, {.max_pixels = 10'000}), RecipeOutcome::kDone);
  EXPECT_EQ(PlanFor(pad, {81, 80}, {.max_pixels = 10'000}), RecipeOutcome::kTooLarge);
  EXPECT_EQ(PlanFor(MakeStep(Op::kPerspective, {0.5}), {40'000, 2}), RecipeOutcome::kTooLarge);
}

TEST(MakePlanTest, RefusesResizesToNoPixelsOrTooMany) {
  EXPECT_EQ(PlanFor(MakeStep(Op::kScaleJitter, {9, 9, 0.1, 0.1}), {90, 9}),
            RecipeOutcome::kTooSmall);
  EXPECT_EQ(PlanFor(MakeStep(Op::kResize, {2, 0, 3}), {90, 9}), RecipeOutcome::kTooSmall);
  EXPECT_EQ(PlanFor(MakeStep(Op::kResize, {101, 100}), {9, 9}, {.max_pixels = 10'000}),
            RecipeOutcome::kTooLarge);
  EXPECT_EQ(PlanFor(MakeStep(Op::kResize, {16384}), {1 << 20, 1}), RecipeOutcome::kTooLarge);
}

TEST(MakePlanTest, OfAPerspectiveWithoutSolutionIsEmpty) {
  std::vector<RecipeAction> actions;
  EXPECT_EQ(MakePlan(MakeRecipe({MakeStep(Op::kPerspective, {0.5})}), {}, {1, 9}, {}, &actions),
            RecipeOutcome::kDone);
  EXPECT_TRUE(actions.empty());
}

// Steps draw by their places, so the views of a sample and equal steps differ.
TEST(MakePlanTest, ViewsAndPlacesDrawAnew) {
  const Step turn = MakeStep(Op::kRotation, {-180, 180});
  std::vector<RecipeAction> first, second;
  MakePlan(MakeRecipe({turn, turn}), {}, {9, 9}, {}, &first);
  MakePlan(MakeRecipe({turn, turn}), {.operation = 1u << 24}, {9, 9}, {}, &second);

  const auto degrees = [](const RecipeAction& a) {
    return std::get<RotateBy>(a.what).rotation.degrees;
  };
  EXPECT_NE(degrees(first[0]), degrees(first[1]));
  EXPECT_NE(degrees(first[0]), degrees(second[0]));
}

}  // namespace
}  // namespace penstock::augment
