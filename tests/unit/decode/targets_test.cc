// Masks, boxes and points beside the image that they belong to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "server/decode/decoder.h"
#include "server/decode/mask.h"
#include "tests/support/augment/recipe_maker.h"
#include "tests/support/files/png_maker.h"

namespace penstock::decode {
namespace {

using augment::MakeRecipe;
using augment::MakeStep;
using augment::Op;
using augment::Sampling;
using augment::Step;
using base::BoxFormat;
using base::Fault;
using base::TargetKind;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using testing::MakePng;
using testing::MakePngSamples;
using ::testing::Pointwise;

constexpr SampleLimits kTargetLimits = {.max_bytes = 1 << 20, .max_pixels = 100'000};
constexpr uint8_t kFill = 77;

std::vector<std::byte> GrayPng(uint32_t width, uint32_t height, uint32_t seed) {
  const PngHeader header = {
      .width = width, .height = height, .depth = 8, .color = PngHeader::kGray};
  return MakePng(header, MakePngSamples(header, seed));
}

template <typename Number>
std::span<std::byte> BytesOf(std::vector<Number>& numbers) {
  return std::as_writable_bytes(std::span(numbers));
}

// A step that reads the nearest pixel, as masks do, with the masks' fill.
Step Nearest(Op op, std::initializer_list<double> args = {}) {
  Step step = MakeStep(op, args);
  step.interpolation = static_cast<uint8_t>(Sampling::kNearest);
  step.fill = {{kFill, kFill, kFill}};
  return step;
}

Step Maybe(Step step) {
  step.probability = 0.5;
  return step;
}

Spec Whole(uint32_t height, uint32_t width, std::initializer_list<Step> steps) {
  return {.geometry = Geometry::kWhole,
          .height = height,
          .width = width,
          .color = Color::kGray,
          .recipe = MakeRecipe(steps)};
}

Step PadIfNeeded(Step crop) {
  crop.flags = augment::kPadIfNeeded;
  return crop;
}

// Specs whose images are read by the nearest pixel.
std::vector<Spec> NearestSpecs() {
  const Spec training = {.height = 31,
                         .width = 45,
                         .flip_probability = 0.5,
                         .color = Color::kGray,
                         .interpolation = base::Interpolation::kNearest};
  Spec evaluation = training;
  evaluation.geometry = Geometry::kResizeCenterCrop;
  evaluation.resize = 50;
  Spec with_recipe = training;
  with_recipe.recipe =
      MakeRecipe({Maybe(Nearest(Op::kVerticalFlip)), Nearest(Op::kRotation, {-40, 40})});
  return {
      training,
      evaluation,
      with_recipe,
      Whole(40, 50,
            {Nearest(Op::kRandomShortestSize, {0, 30, 60, 90}), Maybe(Nearest(Op::kHorizontalFlip)),
             PadIfNeeded(Nearest(Op::kRandomCrop, {40, 50}))}),
      Whole(30, 30,
            {Nearest(Op::kAffine, {-30, 30, 0.2, 0.2, 0.7, 1.4, -9, 9, -9, 9}),
             Maybe(Nearest(Op::kPerspective, {0.5})),
             Nearest(Op::kRandomResizedCrop, {30, 30, 0.2, 1, 0.5, 2})}),
      Whole(64, 64, {Nearest(Op::kPad, {3, 5, 7, 9}), Nearest(Op::kResize, {64, 64})}),
  };
}

class TargetsTest : public ::testing::Test {
 protected:
  Fault Decode(const std::vector<std::byte>& file, const Spec& spec, const DrawKey& key,
               std::vector<TargetRow> targets) {
    EXPECT_TRUE(Validate(spec).ok()) << Validate(spec).message();
    row_.assign(RowBytes(spec), std::byte{0});
    return decoder_.DecodeWithTargets(file, {&spec, key, row_}, targets);
  }

  Decoder decoder_{kTargetLimits};
  std::vector<std::byte> row_;
};

TargetRow MaskRow(const std::vector<std::byte>& file, std::vector<std::byte>& row) {
  return {.spec = {.kind = TargetKind::kMask, .fill = kFill}, .row = row, .file = file};
}

// An image that is read like a mask must give the mask.
TEST_F(TargetsTest, AMaskIsWhereItsImageIs) {
  for (const Spec& spec : NearestSpecs()) {
    for (uint64_t sample = 0; sample < 40; ++sample) {
      const std::vector<std::byte> file = GrayPng(97, 61, static_cast<uint32_t>(sample));
      std::vector<std::byte> mask(size_t{spec.height} * spec.width);

      ASSERT_EQ(Decode(file, spec, {5, 2, sample}, {MaskRow(file, mask)}), Fault::kNone);

      ASSERT_EQ(mask, row_) << "sample " << sample;
    }
  }
}

TEST_F(TargetsTest, ColorsChangeNoMask) {
  const std::vector<std::byte> file = GrayPng(40, 30, 1);
  const Spec spec = Whole(30, 40,
                          {MakeStep(Op::kInvert), MakeStep(Op::kGaussianBlur, {3, 3, 1, 1}),
                           MakeStep(Op::kSolarize, {100}), MakeStep(Op::kCenterCrop, {30, 40})});
  std::vector<std::byte> mask(30 * 40), plain(30 * 40);
  ASSERT_EQ(Decode(file, Whole(30, 40, {MakeStep(Op::kCenterCrop, {30, 40})}), {}, {}),
            Fault::kNone);
  plain = row_;

  ASSERT_EQ(Decode(file, spec, {}, {MaskRow(file, mask)}), Fault::kNone);

  EXPECT_EQ(mask, plain);
  EXPECT_NE(mask, row_);
}

// The 9 brightest pixels of a dark image, around a point within a box: wherever they go, the point
// and the box go, too.
class MarkedImage {
 public:
  MarkedImage(uint32_t width, uint32_t height, uint32_t x, uint32_t y) : x_(x), y_(y) {
    const PngHeader header = {
        .width = width, .height = height, .depth = 8, .color = PngHeader::kGray};
    std::vector<uint16_t> samples(size_t{width} * height, 0);
    for (uint32_t dy = 0; dy < 3; ++dy) {
      for (uint32_t dx = 0; dx < 3; ++dx) samples[(y + dy) * width + x + dx] = 255;
    }
    file = MakePng(header, samples);
  }
  std::vector<float> box() const {
    return {static_cast<float>(x_), static_cast<float>(y_), static_cast<float>(x_ + 3),
            static_cast<float>(y_ + 3)};
  }
  // In the middle of a pixel, counted from the middle of the first one.
  std::vector<float> point() const {
    return {static_cast<float>(x_ + 1), static_cast<float>(y_ + 1)};
  }

  std::vector<std::byte> file;

 private:
  uint32_t x_, y_;
};

// The box around the bright pixels of a row; empty: there are none.
std::vector<float> BoundsOf(const std::vector<std::byte>& row, const Spec& spec) {
  float left = 1e9f, top = 1e9f, right = 0, bottom = 0;
  for (uint32_t y = 0; y < spec.height; ++y) {
    for (uint32_t x = 0; x < spec.width; ++x) {
      if (row[y * spec.width + x] != std::byte{255}) continue;
      left = std::min(left, static_cast<float>(x));
      top = std::min(top, static_cast<float>(y));
      right = std::max(right, static_cast<float>(x + 1));
      bottom = std::max(bottom, static_cast<float>(y + 1));
    }
  }
  if (right == 0) return {};
  return {left, top, right, bottom};
}

TEST_F(TargetsTest, ABoxIsAroundWhatItWasAround) {
  int seen = 0;
  for (const Spec& spec : NearestSpecs()) {
    for (uint64_t sample = 0; sample < 60; ++sample) {
      const MarkedImage image(97, 61, static_cast<uint32_t>(sample * 37 % 94),
                              static_cast<uint32_t>(sample * 23 % 58));
      std::vector<float> box = image.box();
      int32_t count = 1;
      const TargetRow boxes = {.spec = {.kind = TargetKind::kBoxes, .min_side = 0.01f},
                               .row = BytesOf(box),
                               .count = std::as_writable_bytes(std::span(&count, 1)),
                               .item_bytes = 16};

      ASSERT_EQ(Decode(image.file, spec, {7, 1, sample}, {boxes}), Fault::kNone);

      const std::vector<float> bounds = BoundsOf(row_, spec);
      if (bounds.empty()) continue;  // at most a part of a pixel is left
      ++seen;
      ASSERT_EQ(count, 1);
      // Pixels are whole, and rotated ones are within the box around their corners.
      EXPECT_LE(box[0], bounds[0] + 1.0f);
      EXPECT_LE(box[1], bounds[1] + 1.0f);
      EXPECT_GE(box[2], bounds[2] - 1.0f);
      EXPECT_GE(box[3], bounds[3] - 1.0f);
      EXPECT_LE((box[2] - box[0]) - (bounds[2] - bounds[0]), 8.0f);
      EXPECT_LE((box[3] - box[1]) - (bounds[3] - bounds[1]), 8.0f);
    }
  }
  EXPECT_GT(seen, 100);
}

TEST_F(TargetsTest, AFlipAndACropMoveExactly) {
  const MarkedImage image(40, 30, 10, 8);
  const Spec spec =
      Whole(20, 20, {MakeStep(Op::kHorizontalFlip), MakeStep(Op::kCenterCrop, {20, 20})});
  std::vector<float> box = image.box(), point = image.point();
  int32_t count = 1;
  const std::span<std::byte> counted = std::as_writable_bytes(std::span(&count, 1));

  ASSERT_EQ(Decode(image.file, spec, {},
                   {{.spec = {.kind = TargetKind::kBoxes},
                     .row = BytesOf(box),
                     .count = counted,
                     .item_bytes = 16},
                    {.spec = {.kind = TargetKind::kPoints},
                     .row = BytesOf(point),
                     .item_bytes = 8,
                     .numbers = 2}}),
            Fault::kNone);

  EXPECT_EQ(box, BoundsOf(row_, spec));
  EXPECT_THAT(box, ElementsAre(17, 3, 20, 6));
  EXPECT_THAT(point, ElementsAre(18, 4));
}

TEST_F(TargetsTest, BoxesThatLeaveTakeTheirValuesWithThem) {
  const std::vector<std::byte> file = GrayPng(40, 30, 1);
  const Spec spec = Whole(10, 10, {MakeStep(Op::kCenterCrop, {10, 10})});  // 15 … 25, 10 … 20
  std::vector<float> boxes = {0,  0,  5,  5,  14, 9,  20, 15, 24.5f, 12,
                              39, 13, 16, 11, 17, 12, 0,  0,  0,     0};
  std::vector<int64_t> labels = {7, 8, 9, 10, 0};
  std::vector<float> points = {1, 1, 2, 16, 12, 1, 30, 12, 2, 20, 15, 2, 0, 0, 0};
  int32_t boxed = 4, labeled = 4, pointed = 4;
  const auto counted = [](int32_t& n) { return std::as_writable_bytes(std::span(&n, 1)); };

  ASSERT_EQ(Decode(file, spec, {},
                   {{.spec = {.kind = TargetKind::kWithBoxes},
                     .row = BytesOf(labels),
                     .count = counted(labeled),
                     .item_bytes = 8},
                    {.spec = {.kind = TargetKind::kBoxes},
                     .row = BytesOf(boxes),
                     .count = counted(boxed),
                     .item_bytes = 16},
                    {.spec = {.kind = TargetKind::kPoints},
                     .row = BytesOf(points),
                     .count = counted(pointed),
                     .item_bytes = 12,
                     .numbers = 3}}),
            Fault::kNone);

  EXPECT_EQ(boxed, 2);  // the third one is half a pixel wide
  EXPECT_EQ(labeled, 2);
  EXPECT_EQ(pointed, 2);
  EXPECT_THAT(boxes, ElementsAre(0, 0, 5, 5, 1, 1, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(labels, ElementsAre(8, 10, 0, 0, 0));
  EXPECT_THAT(points, ElementsAre(1, 2, 1, 5, 5, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST_F(TargetsTest, AFlipExchangesPointsThatAreNamedForTheirSide) {
  const std::vector<std::byte> file = GrayPng(40, 30, 1);
  const Spec spec =
      Whole(30, 40, {MakeStep(Op::kHorizontalFlip), MakeStep(Op::kCenterCrop, {30, 40})});
  std::vector<float> points = {20, 1, 2, 10, 5, 2, 30, 6, 1};  // nose, left eye, right eye
  base::TargetSpec eyes = {.kind = TargetKind::kPoints, .pairs = 1};
  eyes.pair[0] = 1;
  eyes.pair[1] = 2;

  ASSERT_EQ(Decode(file, spec, {},
                   {{.spec = eyes, .row = BytesOf(points), .item_bytes = 36, .numbers = 3}}),
            Fault::kNone);

  EXPECT_THAT(points, ElementsAre(19, 1, 2, 9, 6, 1, 29, 5, 2));
}

TEST_F(TargetsTest, BoxesAreReadInTheirFormat) {
  const std::vector<std::byte> file = GrayPng(40, 20, 1);
  const Spec spec = Whole(20, 40, {MakeStep(Op::kCenterCrop, {20, 40})});
  const std::vector<std::pair<base::TargetSpec, std::vector<float>>> stored = {
      {{.kind = TargetKind::kBoxes}, {4, 5, 10, 15}},
      {{.kind = TargetKind::kBoxes, .format = BoxFormat::kCornerAndSize}, {4, 5, 6, 10}},
      {{.kind = TargetKind::kBoxes, .format = BoxFormat::kCenterAndSize}, {7, 10, 6, 10}},
      {{.kind = TargetKind::kBoxes, .format = BoxFormat::kCenterAndSize, .relative = 1},
       {7 / 40.f, 0.5f, 6 / 40.f, 0.5f}},
      {{.kind = TargetKind::kBoxes, .relative = 1}, {0.1f, 0.25f, 0.25f, 0.75f}},
  };
  for (auto [target, box] : stored) {
    ASSERT_EQ(Decode(file, spec, {}, {{.spec = target, .row = BytesOf(box), .item_bytes = 16}}),
              Fault::kNone);
    EXPECT_THAT(box, Pointwise(FloatNear(1e-5f), {4, 5, 10, 15}));
  }
}

TEST_F(TargetsTest, WhatIsNotWholeIsRefused) {
  const std::vector<std::byte> file = GrayPng(40, 20, 1);
  const Spec spec = Whole(20, 40, {MakeStep(Op::kCenterCrop, {20, 40})});
  std::vector<std::byte> mask(20 * 40);
  const auto fault = [&](const std::vector<std::byte>& from) {
    return Decode(file, spec, {}, {MaskRow(from, mask)});
  };
  std::vector<std::byte> cut = file, text(100, std::byte{'x'});
  cut.resize(cut.size() / 2);
  const PngHeader deep = {.width = 40, .height = 20, .depth = 16, .color = PngHeader::kGray};
  const PngHeader rgb = {.width = 40, .height = 20, .depth = 8, .color = PngHeader::kRgb};
  EXPECT_EQ(fault(file), Fault::kNone);
  EXPECT_EQ(fault(cut), Fault::kMalformed);
  EXPECT_EQ(fault(text), Fault::kMalformed);
  EXPECT_EQ(fault({}), Fault::kMalformed);
  EXPECT_EQ(fault(GrayPng(20, 40, 1)), Fault::kMalformed);
  EXPECT_EQ(fault(MakePng(deep, MakePngSamples(deep))), Fault::kMalformed);
  EXPECT_EQ(fault(MakePng(rgb, MakePngSamples(rgb))), Fault::kMalformed);
  std::vector<float> box = {0, 0, NAN, 1};
  EXPECT_EQ(Decode(file, spec, {},
                   {{.spec = {.kind = TargetKind::kBoxes}, .row = BytesOf(box), .item_bytes = 16}}),
            Fault::kMalformed);
  std::vector<int64_t> labels = {1, 2};
  std::vector<float> one = {0, 0, 9, 9};
  int32_t boxed = 1, labeled = 2;
  EXPECT_EQ(Decode(file, spec, {},
                   {{.spec = {.kind = TargetKind::kBoxes},
                     .row = BytesOf(one),
                     .count = std::as_writable_bytes(std::span(&boxed, 1)),
                     .item_bytes = 16},
                    {.spec = {.kind = TargetKind::kWithBoxes},
                     .row = BytesOf(labels),
                     .count = std::as_writable_bytes(std::span(&labeled, 1)),
                     .item_bytes = 8}}),
            Fault::kMalformed);
}

TEST_F(TargetsTest, OnACanvasImagesKeepTheirSizes) {
  Spec spec = Whole(40, 60, {Nearest(Op::kRandomShortestSize, {0, 20, 30})});
  spec.canvas = 1;
  for (uint64_t sample = 0; sample < 20; ++sample) {
    const std::vector<std::byte> file = GrayPng(50, 40, static_cast<uint32_t>(sample));
    std::vector<std::byte> mask(40 * 60);

    ASSERT_EQ(Decode(file, spec, {1, 1, sample}, {MaskRow(file, mask)}), Fault::kNone);

    const auto [width, height] = decoder_.size_made();
    ASSERT_TRUE((width == 25 && height == 20) || (width == 37 && height == 30))
        << width << "x" << height;
    for (uint32_t y = 0; y < 40; ++y) {
      for (uint32_t x = 0; x < 60; ++x) {
        const bool within = x < width && y < height;
        ASSERT_EQ(mask[y * 60 + x], within ? row_[y * 60 + x] : std::byte{kFill});
        ASSERT_TRUE(within || row_[y * 60 + x] == std::byte{0});
      }
    }
  }
  EXPECT_EQ(Decode(GrayPng(200, 40, 1), spec, {}, {}), Fault::kUnfitSize);
}

TEST(MaskTest, HasPillowsValues) {
  for (const uint8_t depth : {1, 2, 4, 8}) {
    for (const auto color : {PngHeader::kGray, PngHeader::kPalette}) {
      for (const bool interlaced : {false, true}) {
        const PngHeader header = {
            .width = 13, .height = 9, .depth = depth, .color = color, .interlaced = interlaced};
        const std::vector<uint16_t> samples = MakePngSamples(header);
        std::vector<uint8_t> values(13 * 9);
        ASSERT_EQ(ReadMask(MakePng(header, samples), {values.data(), 13, 9, 1}), Fault::kNone);
        const bool scaled = color == PngHeader::kGray && (depth == 2 || depth == 4);
        for (size_t i = 0; i < values.size(); ++i) {
          ASSERT_EQ(values[i], scaled ? samples[i] * 255 / ((1 << depth) - 1) : samples[i]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock::decode
