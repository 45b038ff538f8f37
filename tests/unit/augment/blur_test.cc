// The blur equals its definition with every variant of the kernels.
#include "server/augment/color/blur.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "server/augment/color/all_kernels.h"

namespace penstock::augment {
namespace {

using Bytes = std::vector<uint8_t>;

std::vector<float> Weights(int size, double sigma) {
  std::vector<float> weights(static_cast<size_t>(size));
  GaussianWeights(sigma, weights);
  return weights;
}

int Mirrored(int position, int size) {
  if (position < 0) return -position;
  return position < size ? position : 2 * (size - 1) - position;
}

// README.md's definition: one fused multiply-add for each weight, row by row.
Bytes Defined(const ConstImageView& image, const Blur& blur) {
  const std::vector<float> across = Weights(blur.size_x, blur.sigma_x),
                           down = Weights(blur.size_y, blur.sigma_y);
  const int width = static_cast<int>(image.width), height = static_cast<int>(image.height),
            channels = static_cast<int>(image.channels);
  Bytes out;
  for (int y = 0; y < height; ++y) {
    for (int i = 0; i < width * channels; ++i) {
      float sum = 0.0f;
      for (int ky = 0; ky < blur.size_y; ++ky) {
        const uint8_t* row =
            image.row(static_cast<uint32_t>(Mirrored(y + ky - blur.size_y / 2, height)));
        for (int kx = 0; kx < blur.size_x; ++kx) {
          const int x = Mirrored(i / channels + kx - blur.size_x / 2, width);
          const float weight = down[static_cast<size_t>(ky)] * across[static_cast<size_t>(kx)];
          sum = std::fma(static_cast<float>(row[x * channels + i % channels]), weight, sum);
        }
      }
      out.push_back(static_cast<uint8_t>(std::nearbyint(sum)));
    }
  }
  return out;
}

Bytes Pixels(size_t count, bool two_values) {
  std::mt19937 random(5);
  Bytes pixels(count);
  for (uint8_t& byte : pixels) {
    byte = static_cast<uint8_t>(two_values ? 255 * (random() & 1) : random());
  }
  return pixels;
}

// Compares the weights up to the middle, and the others with their mirror images.
void ExpectHalf(int size, double sigma, const std::vector<float>& half) {
  const std::vector<float> weights = Weights(size, sigma);
  for (size_t i = 0; i < half.size(); ++i) {
    EXPECT_EQ(weights[i], half[i]) << "size " << size << ", weight " << i;
    EXPECT_EQ(weights[weights.size() - 1 - i], half[i]) << "size " << size << ", weight " << i;
  }
}

struct Size {
  uint32_t width, height, channels;
};

TEST(BlurTest, EqualsItsDefinitionWithEveryKernel) {
  const Blur blurs[] = {{1, 1, 1.0, 1.0},    {3, 3, 0.8, 0.8},  {3, 3, 100.0, 100.0},
                        {5, 7, 0.05, 2.0},   {9, 3, 3.0, 0.4},  {23, 23, 0.1, 0.1},
                        {23, 23, 1.3, 2.0},  {31, 1, 9.0, 1.0}, {1, 31, 1.0, 9.0},
                        {65, 65, 30.0, 30.0}};
  const Size sizes[] = {{1, 1, 1},   {1, 1, 3},   {2, 2, 3},   {5, 9, 1},
                        {12, 12, 3}, {17, 16, 3}, {40, 33, 1}, {61, 37, 3}};
  Scratch scratch;
  for (const Size& size : sizes) {
    for (const bool two_values : {false, true}) {
      Bytes original = Pixels(size_t{size.width} * size.height * size.channels, two_values);
      for (const Blur& blur : blurs) {
        const ImageView from = {original.data(), size.width, size.height, size.channels};
        if (!Fits(blur, from)) continue;
        const Bytes wanted = Defined(from, blur);
        for (const BlurKernels* kernels : AllBlurKernels()) {
          if (!kernels->supported()) continue;
          Bytes found = original;
          GaussianBlurWith(*kernels, {found.data(), size.width, size.height, size.channels}, blur,
                           scratch);
          EXPECT_TRUE(found == wanted)
              << kernels->name << ", " << size.width << " x " << size.height << ", blur "
              << blur.size_x << " x " << blur.size_y;
        }
      }
    }
  }
}

TEST(BlurTest, HalvesAreRoundedToEven) {
  // The weights are 0.25, 0.5 and 0.25.
  const Blur blur = {3, 1, 1.0 / std::sqrt(2.0 * std::log(2.0)), 1.0};
  ASSERT_EQ(Weights(3, blur.sigma_x), (std::vector<float>{0.25f, 0.5f, 0.25f}));
  Bytes pixels = {0, 2, 6, 3, 2};
  Scratch scratch;

  GaussianBlur({pixels.data(), 5, 1, 1}, blur, scratch);

  EXPECT_EQ(pixels[1], 2);  // 2.5
  EXPECT_EQ(pixels[3], 4);  // 3.5
}

TEST(BlurTest, ImagesThatAreSmallerThanTheBorderDoNotFit) {
  uint8_t pixel[2] = {};
  const Blur three = {3, 3, 1.0, 1.0}, one = {1, 1, 1.0, 1.0};

  EXPECT_FALSE(Fits(three, ImageView{pixel, 1, 1, 1}));
  EXPECT_FALSE(Fits(three, ImageView{pixel, 2, 1, 1}));
  EXPECT_FALSE(Fits(three, ImageView{pixel, 1, 2, 1}));
  EXPECT_TRUE(Fits(one, ImageView{pixel, 1, 1, 1}));
}

TEST(GaussianWeightsTest, EqualTorchsBits) {
  // torch 1.13's weights for sizes below, at and above the eight lanes of its sum.
  ExpectHalf(3, 0.8, {0x1.e975d40000000p-3f, 0x1.0b45180000000p-1f});
  ExpectHalf(5, 1.1, {0x1.21dbec0000000p-4f, 0x1.f4a7a40000000p-3f, 0x1.7a6a620000000p-2f});
  ExpectHalf(
      7, 2.0,
      {0x1.1f5f620000000p-4f, 0x1.0c70fc0000000p-3f, 0x1.8694700000000p-3f, 0x1.ba95be0000000p-3f});
  ExpectHalf(9, 1.7,
             {0x1.e642620000000p-7f, 0x1.981a700000000p-5f, 0x1.e4a6240000000p-4f,
              0x1.9733a60000000p-3f, 0x1.e41d060000000p-3f});
  ExpectHalf(23, 1.3,
             {0x1.916b440000000p-54f, 0x1.8763280000000p-45f, 0x1.a658400000000p-37f,
              0x1.f8678a0000000p-30f, 0x1.4d5bbe0000000p-23f, 0x1.e7ab380000000p-18f,
              0x1.8ac8a20000000p-13f, 0x1.61b53a0000000p-9f, 0x1.5ebc9a0000000p-6f,
              0x1.80eb1e0000000p-4f, 0x1.d3870c0000000p-3f, 0x1.3a3e6a0000000p-2f});
  ExpectHalf(
      37, 5.0,
      {0x1.00b4560000000p-13f, 0x1.02782e0000000p-12f, 0x1.f415aa0000000p-12f,
       0x1.d0cf920000000p-11f, 0x1.9f15c60000000p-10f, 0x1.6424fc0000000p-9f, 0x1.2597620000000p-8f,
       0x1.d112060000000p-8f, 0x1.61e8e20000000p-7f, 0x1.02c2240000000p-6f, 0x1.6b8aba0000000p-6f,
       0x1.eabaf20000000p-6f, 0x1.3e38ae0000000p-5f, 0x1.8c873e0000000p-5f, 0x1.dabb060000000p-5f,
       0x1.1108fa0000000p-4f, 0x1.2dc01a0000000p-4f, 0x1.4068dc0000000p-4f, 0x1.46e1e00000000p-4f});
}

TEST(GaussianWeightsTest, SmallSigmasLeaveTheMiddleAlone) {
  EXPECT_EQ(Weights(5, 0.01), (std::vector<float>{0, 0, 1, 0, 0}));
}

}  // namespace
}  // namespace penstock::augment
