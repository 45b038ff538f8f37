// Several rows of one image.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "server/decode/decoder.h"
#include "tests/support/augment/recipe_maker.h"
#include "tests/support/files/jpeg_maker.h"

namespace penstock::decode {
namespace {

using augment::MakeRecipe;
using augment::MakeStep;
using augment::Op;
using base::Fault;
using testing::MakeJpeg;

constexpr SampleLimits kViewLimits = {.max_bytes = 1 << 20, .max_pixels = 100'000};

uint32_t UpTo(std::mt19937& engine, uint32_t most) {
  return 1 + static_cast<uint32_t>(engine() % most);
}

Spec AnySpec(std::mt19937& engine, Color color) {
  Spec spec = {.height = UpTo(engine, 40), .width = UpTo(engine, 40), .color = color};
  spec.interpolation = static_cast<base::Interpolation>(engine() % 4);
  spec.flip_probability = 0.5;
  switch (engine() % 3) {
    case 0:
      spec.scale_min = 0.01;
      break;
    case 1:
      spec.geometry = Geometry::kResizeCenterCrop;
      spec.resize = std::max(spec.height, spec.width) + UpTo(engine, 20);
      break;
    default:
      spec.geometry = Geometry::kWhole;
      spec.flip_probability = 0;
      spec.recipe =
          MakeRecipe({MakeStep(Op::kRotation, {-30, 30}), MakeStep(Op::kRandAugment, {2, 9, 31}),
                      MakeStep(Op::kCenterCrop, {double(spec.height), double(spec.width)})});
      return spec;
  }
  if (engine() % 2 == 0) spec.recipe = MakeRecipe({MakeStep(Op::kTrivialAugmentWide, {31})});
  return spec;
}

// As many views of a file as there are specs, in memory of their own.
struct Views {
  Views(std::mt19937& engine, size_t count, Color color) : specs(count), rows(count) {
    for (size_t i = 0; i < count; ++i) {
      specs[i] = AnySpec(engine, color);
      rows[i].resize(RowBytes(specs[i]));
    }
  }
  DrawKey KeyOf(size_t view) const {
    return {.seed = 7, .epoch = 1, .sample = sample, .view = static_cast<uint32_t>(view)};
  }
  std::vector<Decoder::Wanted> wanted() {
    std::vector<Decoder::Wanted> wanted;
    for (size_t i = 0; i < specs.size(); ++i) wanted.push_back({&specs[i], KeyOf(i), rows[i]});
    return wanted;
  }

  std::vector<Spec> specs;
  std::vector<std::vector<std::byte>> rows;
  uint64_t sample = 0;
};

class ViewsTest : public ::testing::TestWithParam<Color> {
 protected:
  Decoder decoder_{kViewLimits};
};

TEST_P(ViewsTest, EachIsWhatItIsAlone) {
  std::mt19937 engine(11);
  for (uint64_t sample = 0; sample < 200; ++sample) {
    const std::vector<std::byte> file = MakeJpeg(UpTo(engine, 190), UpTo(engine, 190),
                                                 {.horizontal = static_cast<int>(UpTo(engine, 2))});
    Views views(engine, UpTo(engine, 5), GetParam());
    views.sample = sample;

    ASSERT_EQ(decoder_.DecodeRows(file, views.wanted()), Fault::kNone);

    for (size_t i = 0; i < views.specs.size(); ++i) {
      std::vector<std::byte> alone(views.rows[i].size());
      ASSERT_EQ(decoder_.DecodeRow(file, views.specs[i], views.KeyOf(i), alone), Fault::kNone);
      EXPECT_EQ(views.rows[i], alone) << "sample " << sample << ", view " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Colors, ViewsTest, ::testing::Values(Color::kRgb, Color::kGray));

TEST(ViewsOfBadFilesTest, TheirFaultIsThatOfOneRow) {
  std::mt19937 engine(3);
  std::vector<std::byte> file = MakeJpeg(90, 80, {});
  file.resize(file.size() / 2);
  Views views(engine, 3, Color::kRgb);
  Decoder decoder(kViewLimits), other(kViewLimits);

  const Fault fault = decoder.DecodeRows(file, views.wanted());

  EXPECT_EQ(fault, other.DecodeRow(file, views.specs[0], views.KeyOf(0), views.rows[0]));
  EXPECT_EQ(decoder.DecodeRows(MakeJpeg(600, 400, {}), views.wanted()), Fault::kTooManyPixels);
  EXPECT_EQ(decoder.DecodeRows(MakeJpeg(60, 40, {}), views.wanted()), Fault::kNone);
}

TEST(ViewsOfBadFilesTest, DrawsOfDifferentViewsDiffer) {
  const Spec spec = {.height = 9, .width = 9};
  const Box first = DrawFor(spec, {.seed = 1, .sample = 5}, 500, 400).crop;
  const Box second = DrawFor(spec, {.seed = 1, .sample = 5, .view = 1}, 500, 400).crop;
  EXPECT_TRUE(first.x != second.x || first.y != second.y);
}

}  // namespace
}  // namespace penstock::decode
