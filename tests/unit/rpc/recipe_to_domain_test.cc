#include "server/rpc/recipe_to_domain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <string>

namespace penstock::rpc {
namespace {

using augment::Op;
using augment::Step;
using ::testing::HasSubstr;

v1::TransformStep& AddStep(v1::Recipe& recipe, v1::TransformOp op,
                           std::initializer_list<double> numbers = {}) {
  v1::TransformStep& step = *recipe.add_steps();
  step.set_op(op);
  step.set_probability(1);
  step.mutable_numbers()->Assign(numbers.begin(), numbers.end());
  return step;
}

v1::TransformStep& AddWithin(v1::TransformStep& group, v1::TransformOp op) {
  v1::TransformStep& step = *group.add_steps();
  step.set_op(op);
  step.set_probability(0.5);
  return step;
}

std::string Refusal(const v1::Recipe& recipe) {
  const absl::StatusOr<augment::TransformRecipe> got = RecipeFrom(recipe.steps());
  EXPECT_TRUE(absl::IsInvalidArgument(got.status())) << got.status();
  return std::string(got.status().message());
}

TEST(RecipeToDomainTest, NumbersBecomeArgumentsFlagsAndTheFill) {
  v1::Recipe recipe;
  v1::TransformStep& message =
      AddStep(recipe, v1::TRANSFORM_OP_ROTATION, {-10, 20, 0, 1, 3, 4, 7, 8, 9});
  message.set_interpolation(v1::INTERPOLATION_BILINEAR);

  const augment::TransformRecipe got = RecipeFrom(recipe.steps()).value();

  ASSERT_EQ(got.count, 1u);
  const Step& step = got.steps[0];
  EXPECT_EQ(step.op, Op::kRotation);
  EXPECT_EQ(step.interpolation, static_cast<uint8_t>(base::Interpolation::kBilinear));
  EXPECT_EQ(step.flags, augment::kHasCenter);
  EXPECT_EQ(step.args[augment::RotationArgs::kDegreesMin], -10);
  EXPECT_EQ(step.args[augment::RotationArgs::kDegreesMax], 20);
  EXPECT_EQ(step.args[augment::RotationArgs::kCenterX], 3);
  EXPECT_EQ(step.args[augment::RotationArgs::kCenterY], 4);
  EXPECT_EQ(step.fill, (augment::Fill{{7, 8, 9}}));
}

TEST(RecipeToDomainTest, PaddingModesAreTheKernels) {
  v1::Recipe recipe;
  AddStep(recipe, v1::TRANSFORM_OP_RANDOM_CROP, {32, 30, 1, 2, 3, 4, 1, 5, 6, 7})
      .set_padding_mode(v1::PADDING_MODE_REFLECT);

  const Step step = RecipeFrom(recipe.steps()).value().steps[0];

  EXPECT_EQ(step.mode, static_cast<uint8_t>(augment::PadMode::kReflect));
  EXPECT_EQ(step.flags, augment::kPadIfNeeded);
  EXPECT_EQ(step.args[augment::CropArgs::kPadBottom], 4);
}

TEST(RecipeToDomainTest, GroupsComeBeforeTheirSteps) {
  v1::Recipe recipe;
  v1::TransformStep& choice = AddStep(recipe, v1::TRANSFORM_OP_RANDOM_CHOICE, {1, 3});
  AddWithin(choice, v1::TRANSFORM_OP_INVERT);
  v1::TransformStep& inner = AddWithin(choice, v1::TRANSFORM_OP_RANDOM_APPLY);
  AddWithin(inner, v1::TRANSFORM_OP_EQUALIZE);
  AddStep(recipe, v1::TRANSFORM_OP_HORIZONTAL_FLIP);

  const augment::TransformRecipe got = RecipeFrom(recipe.steps()).value();

  ASSERT_EQ(got.count, 5u);
  EXPECT_EQ(got.steps[0].children, 3u);
  EXPECT_EQ(got.steps[1].weight, 1);
  EXPECT_EQ(got.steps[2].op, Op::kRandomApply);
  EXPECT_EQ(got.steps[2].weight, 3);
  EXPECT_EQ(got.steps[2].children, 1u);
  EXPECT_EQ(got.steps[3].op, Op::kEqualize);
  EXPECT_EQ(got.steps[4].op, Op::kHorizontalFlip);
}

TEST(RecipeToDomainTest, WhatCannotBeIsRefusedInWordsThatNameTheStep) {
  struct Case {
    v1::TransformOp op;
    std::initializer_list<double> numbers;
    const char* words;
  };
  for (const Case& each : {
           Case{static_cast<v1::TransformOp>(99), {}, "unknown step 99"},
           Case{v1::TRANSFORM_OP_UNSPECIFIED, {}, "unknown step 0"},
           Case{v1::TRANSFORM_OP_INVERT, {1}, "wanted 0 numbers, got 1"},
           Case{v1::TRANSFORM_OP_PAD, {1, 1, 1, 1, 0, 0, 256}, "0 to 255"},
           Case{v1::TRANSFORM_OP_PAD, {1, 1, 1, 1, 0, 0.5, 0}, "0 to 255"},
           Case{v1::TRANSFORM_OP_RANDOM_CHOICE, {1}, "a weight for each of 0 steps"},
           Case{v1::TRANSFORM_OP_GAUSSIAN_BLUR, {2, 3, 0.1, 2}, "GaussianBlur"},
           Case{v1::TRANSFORM_OP_SOLARIZE, {std::numeric_limits<double>::quiet_NaN()}, "olarize"},
       }) {
    v1::Recipe recipe;
    AddStep(recipe, each.op, each.numbers);
    EXPECT_THAT(Refusal(recipe), HasSubstr(each.words));
  }
}

TEST(RecipeToDomainTest, StepsWithinAStepThatIsNoGroupAreRefused) {
  v1::Recipe recipe;
  AddWithin(AddStep(recipe, v1::TRANSFORM_OP_INVERT), v1::TRANSFORM_OP_EQUALIZE);

  EXPECT_THAT(Refusal(recipe), HasSubstr("no steps within it"));
}

TEST(RecipeToDomainTest, MoreStepsThanARecipeHoldsAreRefused) {
  v1::Recipe recipe;
  for (int i = 0; i < 33; ++i) AddStep(recipe, v1::TRANSFORM_OP_INVERT);

  EXPECT_THAT(Refusal(recipe), HasSubstr("at most 32"));
}

TEST(RecipeToDomainTest, GroupsWithoutEndAreRefused) {
  v1::Recipe recipe;
  v1::TransformStep* group = &AddStep(recipe, v1::TRANSFORM_OP_RANDOM_APPLY);
  for (int i = 0; i < 60; ++i) group = &AddWithin(*group, v1::TRANSFORM_OP_RANDOM_APPLY);

  EXPECT_THAT(Refusal(recipe), HasSubstr("at most 32"));
}

TEST(RecipeToDomainTest, LanczosIsForResizingOnly) {
  v1::Recipe recipe;
  AddStep(recipe, v1::TRANSFORM_OP_TRIVIAL_AUGMENT_WIDE, {31, 0, 0, 0})
      .set_interpolation(v1::INTERPOLATION_LANCZOS);

  EXPECT_THAT(Refusal(recipe), HasSubstr("interpolation"));
}

// ---- Rows that the client decodes ----

v1::Undecoded HalfOfTheRows() {
  v1::Undecoded undecoded;
  undecoded.set_place_bytes(1 << 18);
  undecoded.set_share(0.5);
  undecoded.set_decoder("nvJPEG 13");
  return undecoded;
}

TEST(UndecodableToDomainTest, AReportNamesOneTo4096Samples) {
  v1::ReportUndecodableRequest report;
  EXPECT_THAT(UndecodableFrom(report).status().message(), HasSubstr("wanted 1 to 4096, got 0"));
  for (uint64_t sample = 0; sample < 4096; ++sample) report.add_samples(sample);
  EXPECT_EQ(UndecodableFrom(report)->size(), 4096u);
  EXPECT_EQ(UndecodableFrom(report)->back(), 4095u);
  report.add_samples(7);
  EXPECT_TRUE(absl::IsInvalidArgument(UndecodableFrom(report).status()));
}

TEST(UndecodedToDomainTest, AShareIsAPartOfAllNumbersAndDecodersDiffer) {
  v1::Undecoded undecoded = HalfOfTheRows();
  const decode::Undecoded half = UndecodedFrom(undecoded).value();
  EXPECT_EQ(half.place_bytes, 1u << 18);
  EXPECT_EQ(half.share, 1u << 31);
  undecoded.set_share(1);
  undecoded.set_decoder("nvJPEG 12");
  EXPECT_EQ(UndecodedFrom(undecoded)->share, UINT32_MAX);
  EXPECT_NE(UndecodedFrom(undecoded)->decoder, half.decoder);
}

TEST(UndecodedToDomainTest, WhatIsMissingOrImpossibleIsNamed) {
  const auto refusal = [](auto change) {
    v1::Undecoded undecoded = HalfOfTheRows();
    change(undecoded);
    return std::string(UndecodedFrom(undecoded).status().message());
  };
  EXPECT_THAT(refusal([](auto& u) { u.set_share(0); }), HasSubstr("share: wanted above 0"));
  EXPECT_THAT(refusal([](auto& u) { u.set_share(1.5); }), HasSubstr("got 1.5"));
  EXPECT_THAT(refusal([](auto& u) { u.set_share(std::numeric_limits<double>::quiet_NaN()); }),
              HasSubstr("undecoded.share"));
  EXPECT_THAT(refusal([](auto& u) { u.set_place_bytes(0); }), HasSubstr("place_bytes is missing"));
  EXPECT_THAT(refusal([](auto& u) { u.set_decoder(""); }), HasSubstr("1 to 128 bytes, got 0"));
  EXPECT_THAT(refusal([](auto& u) { u.set_decoder(std::string(129, 'x')); }), HasSubstr("got 129"));
}

}  // namespace
}  // namespace penstock::rpc
