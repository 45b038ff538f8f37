// The operations' values, as far as a reader can check them by hand, and edge cases.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "server/augment/color/enhance.h"
#include "server/augment/color/tables.h"

namespace penstock::augment {
namespace {

using Bytes = std::vector<uint8_t>;

ImageView Rgb(Bytes& pixels, uint32_t width, uint32_t height) {
  return {pixels.data(), width, height, 3};
}

ImageView Gray(Bytes& pixels, uint32_t width, uint32_t height) {
  return {pixels.data(), width, height, 1};
}

TEST(TablesTest, InvertReversesEachValue) {
  Bytes pixels = {0, 1, 127, 128, 254, 255};

  Invert(Rgb(pixels, 2, 1));

  EXPECT_EQ(pixels, (Bytes{255, 254, 128, 127, 1, 0}));
}

TEST(TablesTest, PosterizeKeepsUpperBits) {
  Bytes three = {0, 31, 32, 255, 128, 127}, none = three, all = three;

  Posterize(Rgb(three, 2, 1), 3);
  Posterize(Rgb(none, 2, 1), 0);
  Posterize(Rgb(all, 2, 1), 8);

  EXPECT_EQ(three, (Bytes{0, 0, 32, 224, 128, 96}));
  EXPECT_EQ(none, (Bytes{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(all, (Bytes{0, 31, 32, 255, 128, 127}));
}

TEST(TablesTest, SolarizeInvertsWhatIsNotBelowAnyNumber) {
  const auto solarized = [](double threshold) {
    Bytes pixels = {0, 127, 128, 255};
    Solarize(Gray(pixels, 4, 1), threshold);
    return pixels;
  };

  EXPECT_EQ(solarized(127.5), (Bytes{0, 127, 127, 0}));
  EXPECT_EQ(solarized(127), (Bytes{0, 128, 127, 0}));
  EXPECT_EQ(solarized(255), (Bytes{0, 127, 128, 0}));
  EXPECT_EQ(solarized(255.5), (Bytes{0, 127, 128, 255}));
  EXPECT_EQ(solarized(-1e300), (Bytes{255, 128, 127, 0}));
  EXPECT_EQ(solarized(std::numeric_limits<double>::infinity()), (Bytes{0, 127, 128, 255}));
  EXPECT_EQ(solarized(std::numeric_limits<double>::quiet_NaN()), (Bytes{255, 128, 127, 0}));
}

TEST(TablesTest, AutoContrastStretchesEachChannelAlone) {
  // Red has two values, green one, blue the whole range.
  Bytes pixels = {100, 7, 0, 110, 7, 255, 105, 7, 9};

  AutoContrast(Rgb(pixels, 3, 1));

  EXPECT_EQ(pixels, (Bytes{0, 7, 0, 255, 7, 255, 127, 7, 9}));
}

TEST(TablesTest, EqualizeLeavesFewPixelsAndSingleValuesAlone) {
  Bytes few = {3, 200, 17, 90}, single(1000, 5);

  Equalize(Gray(few, 4, 1));
  Equalize(Gray(single, 10, 100));

  EXPECT_EQ(few, (Bytes{3, 200, 17, 90}));
  EXPECT_EQ(single, Bytes(1000, 5));
}

TEST(TablesTest, EqualizeClipsWhatSmallStepsOvershoot) {
  // 509 pixels below the highest value make a step of 1, so the table would reach 509.
  Bytes pixels(509, 10);
  pixels.push_back(20);

  Equalize(Gray(pixels, 510, 1));

  EXPECT_EQ(pixels.front(), 0);
  EXPECT_EQ(pixels.back(), 255);
}

TEST(EnhanceTest, BrightnessTruncatesAndClips) {
  Bytes half = {255, 1, 3}, triple = {84, 85, 86}, negative = {0, 5, 255};

  Brightness(Rgb(half, 1, 1), 0.5);
  Brightness(Rgb(triple, 1, 1), 3.0);
  Brightness(Rgb(negative, 1, 1), -1.0);

  EXPECT_EQ(half, (Bytes{127, 0, 1}));
  EXPECT_EQ(triple, (Bytes{252, 255, 255}));
  EXPECT_EQ(negative, (Bytes{0, 0, 0}));
}

TEST(EnhanceTest, ContrastOfZeroGivesTheRoundedMean) {
  Bytes pixels = {10, 11, 12, 13};  // the mean is 11.5

  Contrast(Gray(pixels, 2, 2), 0.0);

  EXPECT_EQ(pixels, (Bytes{12, 12, 12, 12}));
}

TEST(EnhanceTest, SaturationOfZeroIsGrayscale) {
  Bytes without = {255, 0, 0, 0, 255, 0, 0, 0, 255}, gray = without;

  Saturation(Rgb(without, 3, 1), 0.0);
  Grayscale(Rgb(gray, 3, 1));

  EXPECT_EQ(gray, (Bytes{76, 76, 76, 150, 150, 150, 29, 29, 29}));
  EXPECT_EQ(without, gray);
}

TEST(EnhanceTest, AFactorOfOneChangesNothing) {
  Bytes original(7 * 5 * 3);
  for (size_t i = 0; i < original.size(); ++i) original[i] = static_cast<uint8_t>(i * 37);
  Bytes pixels = original;
  const ImageView image = Rgb(pixels, 7, 5);
  Scratch scratch;

  Brightness(image, 1.0);
  Contrast(image, 1.0);
  Saturation(image, 1.0);
  Sharpness(image, 1.0, scratch);

  EXPECT_EQ(pixels, original);
}

TEST(EnhanceTest, SharpnessSmoothsAllButTheBorder) {
  Bytes pixels = {0, 0, 0, 0, 130, 0, 0, 0, 0};
  Scratch scratch;

  Sharpness(Gray(pixels, 3, 3), 0.0, scratch);

  EXPECT_EQ(pixels, (Bytes{0, 0, 0, 0, 50, 0, 0, 0, 0}));  // 5/13
}

TEST(EnhanceTest, SharpnessLeavesImagesWithoutInsideAlone) {
  Bytes row = {1, 2, 3, 4}, column = row, two = row;
  Scratch scratch;

  Sharpness(Gray(row, 4, 1), 5.0, scratch);
  Sharpness(Gray(column, 1, 4), 5.0, scratch);
  Sharpness(Gray(two, 2, 2), 5.0, scratch);

  EXPECT_EQ(row, (Bytes{1, 2, 3, 4}));
  EXPECT_EQ(column, row);
  EXPECT_EQ(two, row);
}

TEST(EnhanceTest, AThirdOfTheCircleTurnsRedIntoGreen) {
  Bytes pixels = {255, 0, 0, 9, 9, 9};

  Hue(Rgb(pixels, 2, 1), 1.0 / 3.0);

  EXPECT_EQ(pixels, (Bytes{0, 255, 0, 9, 9, 9}));
}

TEST(EnhanceTest, GrayImagesHaveNoHueAndNoSaturation) {
  Bytes pixels = {1, 2, 200};

  Hue(Gray(pixels, 3, 1), 0.3);
  Saturation(Gray(pixels, 3, 1), 4.0);
  Grayscale(Gray(pixels, 3, 1));

  EXPECT_EQ(pixels, (Bytes{1, 2, 200}));
}

}  // namespace
}  // namespace penstock::augment
