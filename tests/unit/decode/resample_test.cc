// Every kernel variant compared with the definition, and so with every other variant.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <random>
#include <string>

#include "server/decode/resample/resampler.h"
#include "tests/support/files/reference_resize.h"

namespace penstock::decode {
namespace {

using penstock::testing::Crop;
using penstock::testing::Flip;
using penstock::testing::Image;
using penstock::testing::Resize;

using base::Interpolation;

constexpr Interpolation kAllInterpolations[] = {Interpolation::kNearest, Interpolation::kLanczos,
                                                Interpolation::kBilinear, Interpolation::kBicubic};

Image RandomImage(uint32_t width, uint32_t height, uint32_t seed) {
  std::mt19937 random(seed);
  Image image{width, height, std::vector<uint8_t>(size_t{3} * width * height)};
  // Mostly extreme values, so that sums come close to the limits of the fixed-point format.
  for (uint8_t& value : image.pixels) {
    value = static_cast<uint8_t>(random() % 3 == 0 ? random() : random() % 2 * 255);
  }
  return image;
}

// Rows of RGBX with the slack that Take requires. X and the slack have arbitrary values.
class Rows {
 public:
  Rows(const Image& image, TapRange columns) : stride_(4 * columns.count + kSlackBytes) {
    bytes_.assign(stride_ * image.height, 0xA5);
    for (uint32_t y = 0; y < image.height; ++y) {
      for (uint32_t x = 0; x < columns.count; ++x) {
        const size_t from = 3 * (size_t{y} * image.width + columns.first + x);
        std::copy_n(&image.pixels[from], 3, &bytes_[y * stride_ + 4 * x]);
      }
    }
  }
  const uint8_t* at(uint32_t y) const { return &bytes_[y * stride_]; }

 private:
  size_t stride_;
  std::vector<uint8_t> bytes_;
};

std::vector<uint8_t> Resampled(Resampler& resampler, const Image& image,
                               const Placement& placement) {
  const size_t bytes = size_t{3} * placement.x.count * placement.y.count;
  std::vector<uint8_t> out(bytes + 64, 0xEE);
  resampler.Begin(placement, out.data());
  const Rows rows(image, resampler.columns());
  const TapRange wanted = resampler.rows();
  for (uint32_t done = 0; done < wanted.count; done += kRowsAtOnce) {
    const uint32_t count = std::min<uint32_t>(kRowsAtOnce, wanted.count - done);
    const uint8_t* four[kRowsAtOnce] = {};
    for (uint32_t i = 0; i < count; ++i) four[i] = rows.at(wanted.first + done + i);
    resampler.Take(four, count);
  }
  EXPECT_TRUE(std::all_of(out.begin() + bytes, out.end(), [](uint8_t b) { return b == 0xEE; }))
      << "wrote behind the row";
  out.resize(bytes);
  return out;
}

class ResampleTest : public ::testing::TestWithParam<const Kernels*> {
 protected:
  void SetUp() override {
    if (GetParam()->supported()) return;
    std::cout << "SKIPPED: this CPU lacks " << GetParam()->name << "\n";
    GTEST_SKIP() << "this CPU lacks " << GetParam()->name;
  }

  void ExpectResized(uint32_t in_width, uint32_t in_height, uint32_t width, uint32_t height) {
    ExpectResized(RandomImage(in_width, in_height, in_width * 31 + height), width, height);
  }

  void ExpectResized(const Image& image, uint32_t width, uint32_t height) {
    for (const Interpolation interpolation : kAllInterpolations) {
      const Placement placement = {{},
                                   {image.width, width, 0, width},
                                   {image.height, height, 0, height},
                                   false,
                                   interpolation};

      const std::vector<uint8_t> found = Resampled(resampler_, image, placement);

      EXPECT_TRUE(found == Resize(image, width, height, interpolation).pixels)
          << image.width << "x" << image.height << " to " << width << "x" << height
          << ", interpolation " << static_cast<int>(interpolation);
    }
  }

  Resampler resampler_{*GetParam()};
};

TEST_P(ResampleTest, ShrinksByEveryNumberOfTaps) {
  for (uint32_t in : {225u, 300u, 448u, 500u, 672u, 900u, 1200u, 2000u}) {
    ExpectResized(in, 37, 224, 16);
    ExpectResized(16, in, 13, 224);
  }
}

TEST_P(ResampleTest, EnlargesAndKeeps) {
  for (uint32_t in : {1u, 2u, 3u, 7u, 100u, 223u, 224u}) {
    ExpectResized(in, 9, 224, 8);
    ExpectResized(8, in, 9, 224);
  }
}

TEST_P(ResampleTest, WritesEveryWidth) {
  for (uint32_t width = 1; width <= 70; ++width) ExpectResized(90, 5, width, 3);
}

TEST_P(ResampleTest, SumsThousandsOfTapsExactly) {
  ExpectResized(9001, 3, 5, 2);
  ExpectResized(3, 9001, 2, 5);
  ExpectResized(20000, 1, 1, 1);
}

// Where every second pixel is black, the filters with negative weights overshoot in both
// directions.
TEST_P(ResampleTest, ClipsWhatOvershoots) {
  for (const uint32_t period : {1u, 2u, 5u, 16u}) {
    Image image{61, 47, std::vector<uint8_t>(size_t{3} * 61 * 47)};
    for (size_t i = 0; i < image.pixels.size(); ++i) {
      const size_t x = i / 3 % image.width, y = i / 3 / image.width;
      image.pixels[i] = (x / period + y / period) % 2 == 0 ? 0 : 255;
    }
    for (const uint32_t side : {2u, 30u, 60u, 61u, 62u, 122u, 183u, 488u}) {
      ExpectResized(image, side, 33);
      ExpectResized(image, 33, side);
    }
  }
}

TEST_P(ResampleTest, HandlesExtremeSizes) {
  for (const auto& [width, height, to_width, to_height] : {std::array{1u, 1u, 1u, 1u},
                                                           {1u, 1u, 300u, 7u},
                                                           {1u, 900u, 30u, 30u},
                                                           {900u, 1u, 30u, 30u},
                                                           {2u, 2u, 16u, 16u},
                                                           {40u, 30u, 320u, 240u},
                                                           {900u, 600u, 30u, 20u},
                                                           {3000u, 2u, 2u, 90u},
                                                           {2u, 3000u, 90u, 2u},
                                                           {57u, 57u, 57u, 171u},
                                                           {57u, 57u, 171u, 57u}}) {
    ExpectResized(width, height, to_width, to_height);
  }
}

TEST_P(ResampleTest, AFlipIsTheReverseOrder) {
  const Image image = RandomImage(301, 50, 5);
  for (const Interpolation interpolation : kAllInterpolations) {
    const Placement placement = {{}, {301, 99, 0, 99}, {50, 20, 0, 20}, true, interpolation};

    const std::vector<uint8_t> found = Resampled(resampler_, image, placement);

    EXPECT_TRUE(found == Flip(Resize(image, 99, 20, interpolation)).pixels);
  }
}

TEST_P(ResampleTest, AWindowEqualsTheSamePartOfTheWhole) {
  const Image image = RandomImage(333, 250, 6);
  for (const Interpolation interpolation : kAllInterpolations) {
    const Placement placement = {{}, {333, 170, 41, 63}, {250, 128, 7, 90}, false, interpolation};

    const std::vector<uint8_t> found = Resampled(resampler_, image, placement);

    EXPECT_TRUE(found == Crop(Resize(image, 170, 128, interpolation), 41, 7, 63, 90).pixels);
  }
}

TEST_P(ResampleTest, AWindowAsksOnlyForItsInputs) {
  resampler_.Begin({{}, {400, 100, 10, 5}, {400, 100, 50, 1}, false}, nullptr);

  EXPECT_EQ(resampler_.columns().first,
            38u);  // centres 42 to 58, four on either side, without zero weights
  EXPECT_EQ(resampler_.columns().count, 24u);
  EXPECT_EQ(resampler_.rows().first, 198u);
  EXPECT_EQ(resampler_.rows().count, 8u);
}

INSTANTIATE_TEST_SUITE_P(Kernels, ResampleTest,
                         ::testing::ValuesIn(AllKernels().begin(), AllKernels().end()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(KernelsTest, TheBestAreSupportedAndPortableOnesAlwaysThere) {
  EXPECT_TRUE(BestKernels().supported());
  EXPECT_STREQ(AllKernels().back()->name, "portable");
  EXPECT_TRUE(AllKernels().back()->supported());
}

}  // namespace
}  // namespace penstock::decode
