#include "client/finish/effects/draws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace penstock::finish {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kHeight = 224, kWidth = 160;

base::DrawSource SourceFor(uint64_t sample) {
  return ToSource({.seed = 5, .epoch = 2, .view = 1, .step = 3}, sample);
}

TEST(DrawsTest, ViewAndStepAreInTheOperation) {
  EXPECT_EQ(SourceFor(9).operation, 1u << 24 | 3u << 8);
}

TEST(DrawsTest, BoxesAreInsideAndShorterThanTheImage) {
  const RandomErasing erasing = {.probability = 1, .scale_max = 1.0};
  for (uint64_t sample = 0; sample < 5000; ++sample) {
    const PixelBox box = DrawErasure(erasing, SourceFor(sample), kHeight, kWidth).box;
    EXPECT_LE(box.x + box.width, kWidth);
    EXPECT_LE(box.y + box.height, kHeight);
    EXPECT_LT(box.width, kWidth);
    EXPECT_LT(box.height, kHeight);
  }
}

// torchvision's parameters: the area is uniform, the logarithm of the ratio too.
TEST(DrawsTest, AreasAndRatiosHaveTorchvisionsDistribution) {
  const RandomErasing erasing = {.probability = 1, .scale_min = 0.05, .scale_max = 0.15};
  double areas = 0, squares = 0, ratios = 0, ratio_squares = 0, noise = 0;
  constexpr int kSamples = 20000;
  for (uint64_t sample = 0; sample < kSamples; ++sample) {
    const Erasure erasure = DrawErasure(erasing, SourceFor(sample), 1000, 1000);
    const double area = erasure.box.width * erasure.box.height / 1e6;
    const double ratio = std::log(static_cast<double>(erasure.box.height) / erasure.box.width);
    areas += area, squares += area * area;
    ratios += ratio, ratio_squares += ratio * ratio;
    noise += static_cast<double>(erasure.noise_key) / 0x1p64;
  }
  const double mean = areas / kSamples, ratio_mean = ratios / kSamples;
  EXPECT_NEAR(mean, 0.10, 4 * 0.0289 / std::sqrt(kSamples));
  EXPECT_NEAR(std::sqrt(squares / kSamples - mean * mean), 0.1 / std::sqrt(12.0), 0.0006);
  const double low = std::log(0.3), high = std::log(3.3);
  EXPECT_NEAR(ratio_mean, (low + high) / 2, 4 * 0.692 / std::sqrt(kSamples));
  EXPECT_NEAR(std::sqrt(ratio_squares / kSamples - ratio_mean * ratio_mean),
              (high - low) / std::sqrt(12.0), 0.012);
  EXPECT_NEAR(noise / kSamples, 0.5, 0.01);
}

TEST(DrawsTest, ProbabilityDecidesHowOftenThereIsABox) {
  int erased = 0;
  for (uint64_t sample = 0; sample < 10000; ++sample)
    erased += DrawErasure({.probability = 0.25}, SourceFor(sample), kHeight, kWidth).box.width != 0;
  EXPECT_NEAR(erased, 2500, 4 * 43.3);
  EXPECT_EQ(DrawErasure({.probability = 0}, SourceFor(0), kHeight, kWidth), Erasure{});
}

TEST(DrawsTest, AnImageOfOnePixelIsNeverErased) {
  for (uint64_t sample = 0; sample < 100; ++sample) {
    const PixelBox box =
        DrawErasure({.probability = 1, .scale_min = 1, .scale_max = 1}, SourceFor(sample), 1, 1)
            .box;
    EXPECT_EQ(box.width * box.height, 0u);
  }
}

TEST(DrawsTest, CutMixsShareIsWhatTheBoxLeaves) {
  const MixChoice cutmix = {MixKind::kCutMix, 1.0, 1.0};
  double shares = 0;
  for (uint64_t first = 0; first < 5000; ++first) {
    const Mix mix = DrawBatchMix({&cutmix, 1}, 1.0, SourceFor(first), kHeight, kWidth);
    EXPECT_LE(mix.box.x + mix.box.width, kWidth);
    EXPECT_LE(mix.box.y + mix.box.height, kHeight);
    EXPECT_EQ(mix.share,
              1.0 - static_cast<double>(mix.box.width * mix.box.height) / (kWidth * kHeight));
    shares += mix.share;
  }
  EXPECT_GT(shares / 5000, 0.5);  // the box loses what is outside of the image
  EXPECT_LT(shares / 5000, 0.75);
}

TEST(DrawsTest, ChoicesComeInProportionToTheirWeights) {
  const MixChoice choices[] = {
      {MixKind::kMixUp, 0.2, 1}, {MixKind::kNone, 1, 0}, {MixKind::kCutMix, 1.0, 3}};
  std::map<MixKind, int> count;
  for (uint64_t first = 0; first < 10000; ++first)
    ++count[DrawBatchMix(choices, 0.8, SourceFor(first), kHeight, kWidth).kind];
  EXPECT_NEAR(count[MixKind::kNone], 2000, 160);
  EXPECT_NEAR(count[MixKind::kMixUp], 2000, 160);
  EXPECT_NEAR(count[MixKind::kCutMix], 6000, 196);
}

TEST(DrawsTest, WrongParametersAreNamed) {
  const auto erasing = [](const RandomErasing& one) {
    return std::string(CheckErasing(one).message());
  };
  EXPECT_THAT(erasing({.probability = 1.5}), HasSubstr("probability: got 1.5, expected 0 to 1"));
  EXPECT_THAT(erasing({.scale_min = 0.5, .scale_max = 0.4}), HasSubstr("scale: got 0.5 to 0.4"));
  EXPECT_THAT(erasing({.ratio_min = 0}), HasSubstr("ratio: got 0 to 3.3"));
  EXPECT_THAT(erasing({.value = {NAN}}), HasSubstr("value: got nan"));
  const auto mix = [](MixChoice one, double probability = 1) {
    return std::string(CheckMixes({&one, 1}, probability).message());
  };
  EXPECT_THAT(mix({MixKind::kMixUp, 0}), HasSubstr("alpha: got 0, expected 1e-9 to 1e9"));
  EXPECT_THAT(mix({MixKind::kMixUp, 1, 0}), HasSubstr("sum of all weights: got 0"));
  EXPECT_THAT(mix({MixKind::kMixUp, 1, -1}), HasSubstr("weight: got -1"));
  EXPECT_THAT(mix({}, -1), HasSubstr("probability: got -1"));
  EXPECT_THAT(std::string(CheckKey({.view = 256}).message()), HasSubstr("view: got 256"));
  EXPECT_THAT(std::string(CheckKey({.step = 0}).message()), HasSubstr("step: got 0"));
  EXPECT_TRUE(CheckErasing({}).ok() && CheckKey({}).ok() && CheckMixes({}, 0).ok());
}

}  // namespace
}  // namespace penstock::finish
