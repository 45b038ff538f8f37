// Crops, pads, flips and turns.
#include <gtest/gtest.h>

#include <optional>

#include "server/augment/warp/flip.h"
#include "server/augment/warp/frame.h"
#include "tests/unit/augment/warp_images.h"

namespace penstock::augment {
namespace {

Bytes Cropped(const TestImage& in, uint32_t width, uint32_t height, CropOrigin origin) {
  TestImage out(width, height, in.channels, Bytes(size_t{width} * height * in.channels, 99));
  Crop(in, out, origin);
  return out.pixels;
}

Bytes Padded(const TestImage& in, const Padding& padding, const PadStyle& style) {
  const auto size = PaddedSize({in.width, in.height}, padding, style.mode);
  TestImage out(size->width, size->height, in.channels);
  Scratch scratch;
  Pad(in, out, padding, style, scratch);
  return out.pixels;
}

TEST(CropTest, OutsideOfTheImageIsBlack) {
  const TestImage image = Gray(2, {1, 2, 3, 4});

  EXPECT_EQ(Cropped(image, 1, 2, {1, 0}), (Bytes{2, 4}));
  EXPECT_EQ(Cropped(image, 4, 3, {-1, -1}), (Bytes{0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0}));
  EXPECT_EQ(Cropped(image, 2, 1, {2, 0}), (Bytes{0, 0}));
  EXPECT_EQ(Cropped(image, 2, 1, {0, -5}), (Bytes{0, 0}));
}

TEST(PadTest, ModesContinueARow) {
  const TestImage image = Gray(4, {1, 2, 3, 4});
  const Padding two = {2, 0, 2, 0};

  EXPECT_EQ(Padded(image, two, {PadMode::kConstant, {{9, 0, 0}}}), (Bytes{9, 9, 1, 2, 3, 4, 9, 9}));
  EXPECT_EQ(Padded(image, two, {PadMode::kEdge, {}}), (Bytes{1, 1, 1, 2, 3, 4, 4, 4}));
  EXPECT_EQ(Padded(image, two, {PadMode::kReflect, {}}), (Bytes{3, 2, 1, 2, 3, 4, 3, 2}));
  EXPECT_EQ(Padded(image, two, {PadMode::kSymmetric, {}}), (Bytes{2, 1, 1, 2, 3, 4, 4, 3}));
}

TEST(PadTest, WidePaddingReflectsTheReflection) {
  const TestImage image = Gray(2, {1, 2});

  EXPECT_EQ(Padded(image, {5, 0, 3, 0}, {PadMode::kReflect, {}}),
            (Bytes{2, 1, 2, 1, 2, 1, 2, 1, 2, 1}));
  EXPECT_EQ(Padded(image, {5, 0, 3, 0}, {PadMode::kSymmetric, {}}),
            (Bytes{1, 1, 2, 2, 1, 1, 2, 2, 1, 1}));
}

TEST(PadTest, RowsAndColumnsAreContinuedTogether) {
  const TestImage image(2, 1, 3, {1, 2, 3, 4, 5, 6});

  EXPECT_EQ(
      Padded(image, {1, 1, 0, 1}, {PadMode::kReflect, {}}),
      (Bytes{4, 5, 6, 1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Padded(image, {0, 1, 1, 0}, {PadMode::kConstant, {{7, 8, 9}}}),
            (Bytes{7, 8, 9, 7, 8, 9, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(PadTest, OnePixelIsRepeated) {
  const TestImage image = Gray(1, {5});

  for (const PadMode mode : {PadMode::kEdge, PadMode::kReflect, PadMode::kSymmetric}) {
    EXPECT_EQ(Padded(image, {1, 1, 1, 0}, {mode, {}}), Bytes(6, 5));
  }
}

TEST(PadTest, NegativePaddingCuts) {
  const TestImage image = Gray(4, {1, 2, 3, 4});

  EXPECT_EQ(Padded(image, {-1, 0, 2, 0}, {PadMode::kReflect, {}}), (Bytes{2, 3, 4, 3, 2}));
  EXPECT_EQ(Padded(image, {-1, 0, 2, 0}, {PadMode::kConstant, {}}), (Bytes{2, 3, 4, 0, 0}));
}

TEST(PadTest, ImpossibleSizesAreRefused) {
  const ImageSize size = {4, 4};

  EXPECT_FALSE(PaddedSize(size, {-4, 0, 0, 0}, PadMode::kConstant));
  EXPECT_TRUE(PaddedSize(size, {-4, 0, 1, 0}, PadMode::kConstant));
  EXPECT_FALSE(PaddedSize(size, {-4, 0, 1, 0}, PadMode::kEdge));
  EXPECT_FALSE(PaddedSize(size, {INT32_MAX, 0, 0, 0}, PadMode::kEdge));
  EXPECT_FALSE(PaddedSize(size, {0, INT32_MIN, 0, INT32_MIN}, PadMode::kEdge));
}

TEST(FlipTest, RowsAndColumnsAreReversed) {
  Scratch scratch;
  for (const uint32_t channels : {1u, 3u}) {
    for (uint32_t width = 1; width < 60; ++width) {
      const TestImage image = Noise(width, 3, channels);
      TestImage flipped = image, upside_down = image;

      FlipHorizontal(flipped, scratch);
      FlipVertical(upside_down, scratch);

      for (size_t i = 0; i < image.pixels.size(); ++i) {
        const size_t x = i / channels % width, y = i / channels / width, c = i % channels;
        EXPECT_EQ(flipped.pixels[(y * width + width - 1 - x) * channels + c], image.pixels[i]);
        EXPECT_EQ(upside_down.pixels[((2 - y) * width + x) * channels + c], image.pixels[i]);
      }
    }
  }
}

TEST(TurnTest, TurnsCounterclockwise) {
  const TestImage image(2, 2, 3, {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4});
  const TestImage row = Gray(3, {1, 2, 3});
  TestImage out(2, 2, 3), column(1, 3, 1), back(3, 1, 1);

  Turn90(image, out);
  EXPECT_EQ(out.pixels, (Bytes{2, 2, 2, 4, 4, 4, 1, 1, 1, 3, 3, 3}));
  Turn180(image, out);
  EXPECT_EQ(out.pixels, (Bytes{4, 4, 4, 3, 3, 3, 2, 2, 2, 1, 1, 1}));
  Turn270(image, out);
  EXPECT_EQ(out.pixels, (Bytes{3, 3, 3, 1, 1, 1, 4, 4, 4, 2, 2, 2}));
  Turn90(row, column);
  EXPECT_EQ(column.pixels, (Bytes{3, 2, 1}));
  Turn270(column, back);
  EXPECT_EQ(back.pixels, row.pixels);
}

TEST(TurnTest, FourQuarterTurnsAreNone) {
  for (const uint32_t channels : {1u, 3u}) {
    for (const uint32_t width : {1u, 15u, 16u, 17u, 50u}) {
      const TestImage image = Noise(width, 37, channels);
      TestImage quarter(37, width, channels), half(width, 37, channels), half_at_once = half;
      TestImage three_quarters = quarter, whole = half;

      Turn90(image, quarter);
      Turn90(quarter, half);
      Turn180(image, half_at_once);
      Turn270(image, three_quarters);
      Turn90(three_quarters, whole);

      EXPECT_EQ(half.pixels, half_at_once.pixels);
      EXPECT_EQ(whole.pixels, image.pixels);
    }
  }
}

}  // namespace
}  // namespace penstock::augment
