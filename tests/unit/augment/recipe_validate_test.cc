#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "tests/support/augment/recipe_maker.h"

namespace penstock::augment {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const TransformRecipe& recipe) {
  return std::string(Validate(recipe).message());
}
std::string Refusal(const Step& step) { return Refusal(MakeRecipe({step})); }

TEST(ValidateRecipeTest, AcceptsEveryOperationWithTorchvisionsDefaults) {
  const std::vector<Step> steps = {
      MakeStep(Op::kHorizontalFlip),
      MakeStep(Op::kVerticalFlip),
      MakeStep(Op::kRotation, {-10, 10}),
      MakeStep(Op::kAffine, {-10, 10, 0, 0, 1, 1}),
      MakeStep(Op::kPerspective, {0.5}),
      MakeStep(Op::kPad, {1, 1, 1, 1}),
      MakeStep(Op::kRandomCrop, {32, 32, 4, 4, 4, 4}),
      MakeStep(Op::kCenterCrop, {32, 32}),
      MakeStep(Op::kResize, {256}),
      MakeStep(Op::kResize, {32, 40}),
      MakeStep(Op::kResize, {800, 0, 1333}),
      MakeStep(Op::kRandomResizedCrop, {224, 224, 0.08, 1, 3. / 4, 4. / 3}),
      MakeStep(Op::kRandomShortestSize,
               {1333, 480, 512, 544, 576, 608, 640, 672, 704, 736, 768, 800}),
      MakeStep(Op::kScaleJitter, {1024, 1024, 0.1, 2}),
      MakeStep(Op::kRandomResize, {1, 16385}),
      MakeStep(Op::kColorJitter, {1, 1, 1, 1, 1, 1, 0, 0}),
      MakeStep(Op::kGrayscale),
      MakeStep(Op::kGaussianBlur, {3, 5, 0.1, 2}),
      MakeStep(Op::kSolarize, {128}),
      MakeStep(Op::kPosterize, {2}),
      MakeStep(Op::kEqualize),
      MakeStep(Op::kAutocontrast),
      MakeStep(Op::kInvert),
      MakeStep(Op::kAdjustSharpness, {2}),
      MakeStep(Op::kRandAugment, {2, 9, 31}),
      MakeStep(Op::kTrivialAugmentWide, {31}),
      MakeStep(Op::kAutoAugment),
      MakeStep(Op::kAugMix, {3, 3, -1, 1}),
  };
  for (const Step& step : steps) {
    EXPECT_TRUE(Validate(MakeRecipe({step})).ok()) << Refusal(step);
    EXPECT_FALSE(NameOf(step.op).empty());
    EXPECT_EQ(VersionOf(step.op), 1u);
  }
}

TEST(ValidateRecipeTest, NamesTheStepAndItsRange) {
  EXPECT_EQ(Refusal(MakeRecipe({MakeStep(Op::kInvert), MakeStep(Op::kPosterize, {9})})),
            "transforms[1]: RandomPosterize: bits: got 9, expected 0 to 8");
  EXPECT_EQ(Refusal(MakeStep(Op::kPosterize, {2.5})),
            "transforms[0]: RandomPosterize: bits: got 2.5, expected a whole number");
  EXPECT_EQ(Refusal(MakeStep(Op::kRotation, {10, -10})),
            "transforms[0]: RandomRotation: degrees: got 10 to -10, expected the smaller number "
            "first; swap them");
}

TEST(ValidateRecipeTest, RefusesWhatIsOutOfRange) {
  const std::vector<std::pair<Step, const char*>> cases = {
      {MakeStep(static_cast<Op>(9)), "unknown operation: got 9"},
      {MakeStep(Op::kNone), "unknown operation"},
      {MakeStep(Op::kRotation, {NAN, 1}), "degrees"},
      {MakeStep(Op::kRotation, {0, INFINITY}), "degrees"},
      {MakeStep(Op::kAffine, {0, 0, 1.5, 0, 1, 1}), "translate"},
      {MakeStep(Op::kAffine, {0, 0, 0, 0, 0, 1}), "scale"},
      {MakeStep(Op::kAffine, {0, 0, 0, 0, 1, 1, 5, 4}), "shear"},
      {MakeStep(Op::kPerspective, {1.1}), "distortion_scale"},
      {MakeStep(Op::kPad, {0.5}), "padding"},
      {MakeStep(Op::kPad, {0, 0, 0, 1e9}), "padding"},
      {MakeStep(Op::kRandomCrop, {0, 32}), "height"},
      {MakeStep(Op::kCenterCrop, {32, 20000}), "width"},
      {MakeStep(Op::kResize, {0}), "size"},
      {MakeStep(Op::kResize, {32, 0, 32}), "max_size: got 32, expected 33 to 16384"},
      {MakeStep(Op::kResize, {32, 32, 40}), "none where both sides are given"},
      {MakeStep(Op::kRandomResizedCrop, {9, 9, 0, 1, 1, 1}), "scale"},
      {MakeStep(Op::kRandomResizedCrop, {9, 9, 1, 1, 2, 1}), "ratio: got 2 to 1"},
      {MakeStep(Op::kRandomShortestSize, {100}), "min_size: got none, expected 1 to 11"},
      {MakeStep(Op::kRandomShortestSize, {0, 0.5}), "min_size"},
      {MakeStep(Op::kScaleJitter, {9, 9, 0, 1}), "scale_range"},
      {MakeStep(Op::kRandomResize, {0, 9}), "min_size: got 0"},
      {MakeStep(Op::kRandomResize, {9, 9}), "max_size: got 9, expected 10 to 16385"},
      {MakeStep(Op::kRandomResize, {9, 9.5}), "max_size"},
      {MakeStep(Op::kColorJitter, {-1, 1, 1, 1, 1, 1, 0, 0}), "brightness"},
      {MakeStep(Op::kColorJitter, {1, 1, 1, 1, 1, 1, -0.6, 0}), "hue"},
      {MakeStep(Op::kGaussianBlur, {4, 3, 0.1, 2}), "kernel_size: got 4, expected an odd number"},
      {MakeStep(Op::kGaussianBlur, {3, 129, 0.1, 2}), "kernel_size"},
      {MakeStep(Op::kGaussianBlur, {3, 3, 0, 2}), "sigma"},
      {MakeStep(Op::kSolarize, {NAN}), "threshold"},
      {MakeStep(Op::kAdjustSharpness, {-1}), "sharpness_factor"},
      {MakeStep(Op::kRandAugment, {2, 31, 31}), "magnitude: got 31, expected 0 to 30"},
      {MakeStep(Op::kRandAugment, {17, 9, 31}), "num_ops"},
      {MakeStep(Op::kTrivialAugmentWide, {1}), "num_magnitude_bins"},
      {MakeStep(Op::kAugMix, {11, 3, -1, 1}), "severity"},
      {MakeStep(Op::kAugMix, {3, 9, -1, 1}), "mixture_width"},
      {MakeStep(Op::kAugMix, {3, 3, 9, 1}), "chain_depth"},
      {MakeStep(Op::kAugMix, {3, 3, 1, 0}), "alpha"},
      {MakeStep(Op::kInvert, {}, 1), "children"},
  };
  for (const auto& [step, what] : cases) EXPECT_THAT(Refusal(step), HasSubstr(what));
}

Step With(Step step, const std::function<void(Step&)>& change) {
  change(step);
  return step;
}

TEST(ValidateRecipeTest, RefusesWrongFieldsThatAreNotArguments) {
  const Step turn = MakeStep(Op::kRotation, {0, 1});
  EXPECT_THAT(Refusal(With(turn, [](Step& s) { s.probability = 1.5; })), HasSubstr("probability"));
  EXPECT_THAT(Refusal(With(turn, [](Step& s) { s.probability = NAN; })), HasSubstr("probability"));
  EXPECT_THAT(Refusal(With(turn, [](Step& s) { s.interpolation = 1; })),
              HasSubstr("interpolation"));
  EXPECT_TRUE(
      Validate(MakeRecipe({With(MakeStep(Op::kResize, {9}), [](Step& s) { s.interpolation = 1; })}))
          .ok());
  EXPECT_THAT(Refusal(With(MakeStep(Op::kResize, {9}), [](Step& s) { s.interpolation = 4; })),
              HasSubstr("interpolation"));
  EXPECT_THAT(Refusal(With(turn, [](Step& s) { s.flags = kPadIfNeeded; })), HasSubstr("flags"));
  EXPECT_THAT(Refusal(With(MakeStep(Op::kPad), [](Step& s) { s.mode = 4; })),
              HasSubstr("padding_mode"));
  EXPECT_THAT(Refusal(With(MakeStep(Op::kAutoAugment), [](Step& s) { s.mode = 3; })),
              HasSubstr("policy"));
}

TEST(ValidateRecipeTest, RefusesGroupsThatReachBeyondTheirGroup) {
  const Step flip = MakeStep(Op::kHorizontalFlip);
  EXPECT_THAT(Refusal(MakeRecipe({MakeStep(Op::kRandomOrder, {}, 2), flip})),
              HasSubstr("children: got 2, expected at most the 1 steps that follow it"));
  EXPECT_THAT(
      Refusal(MakeRecipe({MakeStep(Op::kCompose, {}, 1), MakeStep(Op::kCompose, {}, 1), flip})),
      HasSubstr("transforms[1]: Compose: children"));
  EXPECT_THAT(Refusal(MakeStep(Op::kCompose, {}, UINT32_MAX)), HasSubstr("children"));
}

TEST(ValidateRecipeTest, RefusesAChoiceWithoutWeights) {
  EXPECT_THAT(Refusal(MakeStep(Op::kRandomChoice)), HasSubstr("p: got a sum of 0"));
  Step flip = MakeStep(Op::kHorizontalFlip);
  flip.weight = 0;
  EXPECT_THAT(Refusal(MakeRecipe({MakeStep(Op::kRandomChoice, {}, 1), flip})),
              HasSubstr("a positive sum"));
  flip.weight = -1;
  EXPECT_THAT(Refusal(MakeRecipe({MakeStep(Op::kRandomChoice, {}, 1), flip})),
              HasSubstr("p: got -1"));
}

TEST(ValidateRecipeTest, RefusesTooManyStepsAndTooDeepGroups) {
  TransformRecipe recipe;
  recipe.count = kMaxSteps + 1;
  EXPECT_THAT(Refusal(recipe), HasSubstr("too many steps: got 33, expected at most 32"));

  TransformRecipe deep;
  deep.count = kMaxNesting + 2;
  for (uint32_t i = 0; i < deep.count; ++i) {
    deep.steps[i] = MakeStep(Op::kCompose, {}, deep.count - i - 1);
  }
  EXPECT_THAT(Refusal(deep), HasSubstr("nested too deeply"));
}

TEST(RecipeTest, OnlyUsedStepsCountForEquality) {
  TransformRecipe a = MakeRecipe({MakeStep(Op::kInvert)}), b = a;
  b.steps[5].op = Op::kEqualize;
  EXPECT_TRUE(a == b);
  b.steps[0].weight = 2;
  EXPECT_FALSE(a == b);
}

}  // namespace
}  // namespace penstock::augment
