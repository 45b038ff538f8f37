#include "client/finish/effects/effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/effects_cases.h"
#include "tests/support/finish_suite.h"

namespace penstock::finish {
namespace {

using ::testing::HasSubstr;

constexpr Type kTypes[] = {Type::kUInt8, Type::kFloat32, Type::kFloat16, Type::kBFloat16};

// Applies to memory that begins one byte past an aligned address.
std::vector<std::byte> Applied(const Spec& spec, const Effects& effects, const Shape& shape,
                               const std::vector<uint8_t>& rows, Variant variant) {
  const size_t bytes = *FinishedBytes(spec.type, shape);
  std::vector<std::byte> out(bytes + 1);
  const auto into = std::span(out).subspan(1);
  EXPECT_TRUE(ApplyWithEffects(spec, effects, shape, rows, {}, into, variant).ok());
  return {into.begin(), into.end()};
}

// Two and more tiles, sides that no vector fits, one row, one pixel, one and many channels.
class EffectsTest : public ::testing::TestWithParam<Shape> {};

TEST_P(EffectsTest, EqualTheReferenceInEveryVariant) {
  const Shape shape = GetParam();
  const std::vector<uint8_t> rows = RandomRows(shape);
  const std::vector<float> mean = Means(shape.channels), stddev = Deviations(shape.channels);
  for (const Type type : kTypes)
    for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
      const Spec spec = {type, layout, mean, stddev};
      for (const EffectsCase& one : EffectsCases(spec, shape)) {
        const Effects effects = one.ToEffects();
        const std::vector<std::byte> expected = NaiveEffects(spec, effects, shape, rows);
        for (const Variant variant : SupportedVariants())
          EXPECT_TRUE(Applied(spec, effects, shape, rows, variant) == expected)
              << one.name << ", type " << static_cast<int>(type) << ", layout "
              << static_cast<int>(layout) << ", variant " << static_cast<int>(variant);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, EffectsTest,
                         ::testing::Values(Shape{1, 1, 1, 3}, Shape{1, 9, 7, 3},
                                           Shape{6, 37, 41, 3}, Shape{5, 16, 16, 1},
                                           Shape{3, 5, 700, 2}, Shape{2, 12, 13, 16}));

class OneRowTest : public ::testing::Test {
 protected:
  absl::Status Apply(Type type, const Effects& effects) {
    const Spec spec = {type, Layout::kNCHW, mean_, stddev_};
    return ApplyWithEffects(spec, effects, shape_, rows_, labels_, out_);
  }
  std::string Refusal(Type type, const Effects& effects) {
    const absl::Status status = Apply(type, effects);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  const Shape shape_ = {2, 4, 5, 3};
  const std::vector<float> mean_ = Means(3), stddev_ = Deviations(3);
  const std::vector<uint8_t> rows_ = RandomRows(shape_);
  std::vector<int64_t> labels_ = {0, 2};
  std::vector<std::byte> out_ = std::vector<std::byte>(1000);
};

TEST_F(OneRowTest, BytesAreNotMixed) {
  for (const MixKind kind : {MixKind::kMixUp, MixKind::kCutMix})
    EXPECT_THAT(Refusal(Type::kUInt8, {.mix = {.kind = kind, .share = 0.5}}),
                HasSubstr("got an output of uint8, expected a float type"));
}

TEST_F(OneRowTest, BytesAreErasedWithWholeNumbersOnly) {
  const std::vector<Erasure> erasures(2);
  EXPECT_THAT(Refusal(Type::kUInt8, {.erasures = erasures, .fill = EraseFill::kNoise}),
              HasSubstr("got noise for an output of uint8"));
  for (const float value : {0.5f, -1.0f, 256.0f})
    EXPECT_THAT(Refusal(Type::kUInt8, {.erasures = erasures, .value = {value}}),
                HasSubstr("expected a whole number of 0 to 255"));
  EXPECT_TRUE(Apply(Type::kUInt8, {.erasures = erasures, .value = {255, 0, 1}}).ok());
}

TEST_F(OneRowTest, WhatDoesNotFitIsRefusedWithTheNumbers) {
  std::vector<Erasure> erasures(1);
  EXPECT_THAT(Refusal(Type::kFloat32, {.erasures = erasures}),
              HasSubstr("got boxes for 1 rows, expected 2"));
  erasures.push_back({.box = {3, 0, 3, 1}});
  EXPECT_THAT(Refusal(Type::kFloat32, {.erasures = erasures}),
              HasSubstr("got a box of 3 x 1 at (3, 0), expected one within 5 x 4"));
  EXPECT_THAT(Refusal(Type::kFloat32, {.mix = {.kind = MixKind::kMixUp, .share = NAN}}),
              HasSubstr("mix: share: got nan, expected 0 to 1"));
  EXPECT_THAT(Refusal(Type::kFloat32, {.mix = {.kind = MixKind::kCutMix, .box = {0, 0, 1, 5}}}),
              HasSubstr("mix: got a box of 1 x 5"));
}

TEST_F(OneRowTest, LabelsThatAreNoClassAreRefused) {
  std::vector<float> soft(100);
  Effects effects = {.soft_labels = soft.data(), .classes = 2};
  EXPECT_THAT(Refusal(Type::kFloat32, effects), HasSubstr("label: got 2, expected 0 to 1"));
  labels_[0] = -1;
  effects.classes = 3;
  EXPECT_THAT(Refusal(Type::kFloat32, effects), HasSubstr("label: got -1, expected 0 to 2"));
  labels_.pop_back();
  EXPECT_THAT(Refusal(Type::kFloat32, effects), HasSubstr("got 1 labels, expected 2"));
  effects.classes = 0;
  EXPECT_THAT(Refusal(Type::kFloat32, effects), HasSubstr("classes: got 0"));
}

TEST(SoftLabelsTest, AreOneHotLabelsMixedLikeTheImages) {
  const Shape shape = {9, 1, 1, 3};
  const std::vector<float> mean = Means(3), stddev = Deviations(3);
  const std::vector<int64_t> labels = RandomLabels(9, 7);
  const std::vector<uint8_t> rows = RandomRows(shape);
  std::vector<std::byte> out(9 * 3 * 4);
  for (const Mix& mix : {Mix{}, Mix{MixKind::kMixUp, 0.3, {}}, Mix{MixKind::kMixUp, 0.1, {}},
                         Mix{MixKind::kCutMix, 0.75, {0, 0, 1, 1}}}) {
    std::vector<float> soft(9 * 7, -1);
    const Effects effects = {.mix = mix, .soft_labels = soft.data(), .classes = 7};

    EXPECT_TRUE(ApplyWithEffects({Type::kFloat32, Layout::kNCHW, mean, stddev}, effects, shape,
                                 rows, labels, out)
                    .ok());

    EXPECT_EQ(soft, NaiveSoftLabels(mix, labels, 7));
  }
}

TEST(SyntheticEffectsTest, AreThoseOfTheSameRowsAsBytes) {
  const Shape shape = {4, 6, 5, 3};
  const Synthetic what = {.seed = 3, .epoch = 1, .first_sample = 8, .classes = 11};
  const std::vector<float> mean = Means(3), stddev = Deviations(3);
  const Spec spec = {Type::kFloat32, Layout::kNCHW, mean, stddev};
  std::vector<uint8_t> rows(*FinishedBytes(Type::kUInt8, shape));
  std::vector<int64_t> labels(4), made_labels(4);
  ASSERT_TRUE(Synthesize(what, {Type::kUInt8, Layout::kNHWC}, shape,
                         std::as_writable_bytes(std::span(rows)), labels)
                  .ok());
  std::vector<std::byte> made(*FinishedBytes(spec.type, shape));
  std::vector<float> soft(44);
  for (const EffectsCase& one : EffectsCases(spec, shape)) {
    Effects effects = one.ToEffects();
    effects.soft_labels = soft.data(), effects.classes = 11;

    ASSERT_TRUE(SynthesizeWithEffects(what, spec, effects, shape, made, made_labels).ok());

    EXPECT_TRUE(made == NaiveEffects(spec, effects, shape, rows)) << one.name;
    EXPECT_EQ(made_labels, labels);
    EXPECT_EQ(soft, NaiveSoftLabels(one.mix, labels, 11));
  }
}

}  // namespace
}  // namespace penstock::finish
