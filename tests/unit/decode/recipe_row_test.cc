// Rows with a recipe, and whole images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "server/augment/recipe/runner.h"
#include "server/decode/decoder.h"
#include "tests/support/augment/recipe_maker.h"
#include "tests/support/files/jpeg_maker.h"
#include "tests/support/files/reference_resize.h"

namespace penstock::decode {
namespace {

using augment::ImageView;
using augment::MakeRecipe;
using augment::MakeStep;
using augment::Op;
using base::Fault;
using ::testing::HasSubstr;
using testing::MakeJpeg;

augment::TransformRecipe Training() {
  return MakeRecipe({MakeStep(Op::kRandAugment, {2, 9, 31}), MakeStep(Op::kRotation, {-9, 9}),
                     MakeStep(Op::kColorJitter, {0.5, 1.5, 0.5, 1.5, 0.5, 1.5, -0.1, 0.1})});
}

uint8_t* Data(std::vector<std::byte>& row) { return reinterpret_cast<uint8_t*>(row.data()); }

class RecipeRowTest : public ::testing::TestWithParam<Color> {
 protected:
  static constexpr SampleLimits kLimits = {.max_bytes = 1 << 20, .max_pixels = 100'000};

  std::vector<std::byte> Decode(const std::vector<std::byte>& file, const Spec& spec,
                                const DrawKey& key) {
    EXPECT_TRUE(Validate(spec).ok()) << Validate(spec).message();
    std::vector<std::byte> row(RowBytes(spec));
    EXPECT_EQ(decoder_.DecodeRow(file, spec, key, row), Fault::kNone);
    return row;
  }

  // What the recipe makes of an image.
  static std::vector<std::byte> Run(const Spec& spec, const DrawKey& key, const ImageView& image) {
    augment::RecipeRunner runner({});
    std::vector<std::byte> row(RowBytes(spec));
    EXPECT_EQ(runner.Run(spec.recipe, {.seed = key.seed, .epoch = key.epoch, .sample = key.sample},
                         image, {Data(row), spec.width, spec.height, Channels(spec)}),
              augment::RecipeOutcome::kDone);
    return row;
  }

  Decoder decoder_{kLimits};
};

TEST_P(RecipeRowTest, TheRecipeRunsOnTheFinishedRow) {
  const std::vector<std::byte> file = MakeJpeg(157, 119, {.horizontal = 2});
  Spec plain = {.height = 31, .width = 45, .flip_probability = 0.5, .color = GetParam()};
  Spec spec = plain;
  spec.recipe = Training();
  for (uint64_t sample = 0; sample < 10; ++sample) {
    const DrawKey key{3, 1, sample};
    std::vector<std::byte> before = Decode(file, plain, key);

    const std::vector<std::byte> row = Decode(file, spec, key);

    EXPECT_EQ(row, Run(spec, key, {Data(before), spec.width, spec.height, Channels(spec)}));
  }
}

// Pillow's convert("L").
std::vector<uint8_t> GrayOf(const std::vector<uint8_t>& rgb) {
  std::vector<uint8_t> gray(rgb.size() / 3);
  for (size_t i = 0; i < gray.size(); ++i) {
    const uint8_t* const p = rgb.data() + 3 * i;
    gray[i] = static_cast<uint8_t>((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >> 16);
  }
  return gray;
}

TEST_P(RecipeRowTest, AWholeImageIsTheRecipesFirstImage) {
  for (const auto& [width, height] : {std::pair(157u, 119u), {1u, 1u}, {33u, 200u}, {40u, 48u}}) {
    const std::vector<std::byte> file = MakeJpeg(width, height, {.horizontal = 2, .vertical = 2});
    augment::Step crop = MakeStep(Op::kRandomCrop, {40, 48, 4, 4, 4, 4});
    crop.flags = augment::kPadIfNeeded;
    const Spec spec = {.geometry = Geometry::kWhole,
                       .height = 40,
                       .width = 48,
                       .color = GetParam(),
                       .recipe = MakeRecipe({MakeStep(Op::kInvert), crop})};
    for (uint64_t sample = 0; sample < 4; ++sample) {
      const DrawKey key{3, 1, sample};
      std::vector<uint8_t> image = testing::DecodeWhole(file).pixels;
      if (GetParam() == Color::kGray) image = GrayOf(image);

      const std::vector<std::byte> row = Decode(file, spec, key);

      EXPECT_EQ(row, Run(spec, key, {image.data(), width, height, Channels(spec)}));
    }
  }
}

// A fused geometry, and the same by steps.
TEST_P(RecipeRowTest, StepsOfGeometryEqualTheFusedOne) {
  const std::vector<std::byte> file = MakeJpeg(157, 119, {.horizontal = 2, .vertical = 2});
  const Spec fused = {.geometry = Geometry::kResizeCenterCrop,
                      .height = 40,
                      .width = 33,
                      .resize = 48,
                      .color = GetParam()};
  augment::Step resize = MakeStep(Op::kResize, {48});
  resize.interpolation = static_cast<uint8_t>(augment::Sampling::kBilinear);
  Spec steps = fused;
  steps.geometry = Geometry::kWhole;
  steps.recipe = MakeRecipe({resize, MakeStep(Op::kCenterCrop, {40, 33})});

  EXPECT_EQ(Decode(file, steps, {}), Decode(file, fused, {}));
}

TEST_P(RecipeRowTest, AnUnfitSizeIsAFault) {
  Spec spec = {.geometry = Geometry::kWhole,
               .height = 64,
               .width = 64,
               .color = GetParam(),
               .recipe = MakeRecipe({MakeStep(Op::kRandomCrop, {64, 64})})};
  std::vector<std::byte> row(RowBytes(spec));
  EXPECT_EQ(decoder_.DecodeRow(MakeJpeg(63, 64, {}), spec, {}, row), Fault::kUnfitSize);
  EXPECT_EQ(decoder_.DecodeRow(MakeJpeg(64, 64, {}), spec, {}, row), Fault::kNone);

  spec.recipe =
      MakeRecipe({MakeStep(Op::kPad, {200, 200, 200, 200}), MakeStep(Op::kCenterCrop, {64, 64})});
  EXPECT_EQ(decoder_.DecodeRow(MakeJpeg(64, 64, {}), spec, {}, row), Fault::kUnfitSize);
  EXPECT_FALSE(decoder_.DecodeRow(MakeJpeg(64, 64, {}), spec, {}, row) == Fault::kTooManyPixels);
}

TEST_P(RecipeRowTest, ADamagedFileHasItsUsualFault) {
  std::vector<std::byte> file = MakeJpeg(100, 80, {});
  file.resize(file.size() / 2);
  const Spec spec = {.geometry = Geometry::kWhole,
                     .height = 8,
                     .width = 8,
                     .color = GetParam(),
                     .recipe = MakeRecipe({MakeStep(Op::kCenterCrop, {8, 8})})};
  std::vector<std::byte> row(RowBytes(spec));
  EXPECT_EQ(decoder_.DecodeRow(file, spec, {}, row), Fault::kTruncated);
}

INSTANTIATE_TEST_SUITE_P(Colors, RecipeRowTest, ::testing::Values(Color::kRgb, Color::kGray));

TEST(RecipeSpecTest, TheRecipeMustEndWithTheRowsSize) {
  const auto refusal = [](const Spec& spec) { return std::string(Validate(spec).message()); };
  Spec spec = {.height = 32, .width = 32};
  spec.recipe = MakeRecipe({MakeStep(Op::kRandomCrop, {32, 32, 4, 4, 4, 4})});
  EXPECT_TRUE(Validate(spec).ok());
  spec.recipe = MakeRecipe({MakeStep(Op::kPad, {1, 1, 1, 1})});
  EXPECT_THAT(refusal(spec), HasSubstr("got 34x34, expected the row's 32x32"));
  spec.recipe = MakeRecipe({MakeStep(Op::kPosterize, {9})});
  EXPECT_THAT(refusal(spec), HasSubstr("transforms[0]"));

  Spec whole = {.geometry = Geometry::kWhole, .height = 32, .width = 32};
  EXPECT_THAT(refusal(whole), HasSubstr("images may differ in size after the last step"));
  whole.recipe = MakeRecipe({MakeStep(Op::kCenterCrop, {32, 32})});
  EXPECT_TRUE(Validate(whole).ok());
  whole.flip_probability = 0.5;
  EXPECT_THAT(refusal(whole), HasSubstr("flip_probability"));
}

}  // namespace
}  // namespace penstock::decode
