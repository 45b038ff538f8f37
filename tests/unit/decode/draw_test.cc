#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "server/decode/core/spec.h"

namespace penstock::decode {
namespace {

auto AsTuple(const Box& box) { return std::tuple(box.x, box.y, box.width, box.height); }

Box CropFor(uint32_t width, uint32_t height, const DrawKey& key, const Spec& spec = {}) {
  return DrawFor(spec, key, width, height).crop;
}

// Counts values in ten equal classes, for Pearson's chi² with 9 degrees of freedom; p = 0.001 at
// 27.9.
class Uniformity {
 public:
  void Add(double value) {
    ++counts_[std::clamp(static_cast<int>(value * 10), 0, 9)];
    ++total_;
  }
  double ChiSquare() const {
    double sum = 0;
    for (int count : counts_) sum += (count - total_ / 10) * (count - total_ / 10) / (total_ / 10);
    return sum;
  }

 private:
  std::array<int, 10> counts_{};
  double total_ = 0;
};

constexpr int kDraws = 20000;

TEST(DrawTest, ABoxNeverLeavesTheImage) {
  for (uint32_t width : {1u, 2u, 3u, 17u, 500u, 65535u}) {
    for (uint32_t height : {1u, 2u, 5u, 375u, 65535u}) {
      for (uint64_t sample = 0; sample < 200; ++sample) {
        const Box box = CropFor(width, height, {9, 1, sample});

        ASSERT_GE(box.width, 1u);
        ASSERT_GE(box.height, 1u);
        ASSERT_LE(uint64_t{box.x} + box.width, width);
        ASSERT_LE(uint64_t{box.y} + box.height, height);
      }
    }
  }
}

TEST(DrawTest, AnImageTooFlatForAnyTryGetsTheMiddle) {
  EXPECT_EQ(AsTuple(CropFor(2000, 10, {1, 0, 0}, {.scale_min = 0.9})),
            std::tuple(993u, 0u, 13u, 10u));
  EXPECT_EQ(AsTuple(CropFor(10, 2000, {1, 0, 0}, {.scale_min = 0.9})),
            std::tuple(0u, 993u, 10u, 13u));
}

TEST(DrawTest, ARatioOfNothingStillLeavesAPixel) {
  const Spec sliver = {.ratio_min = 1e-9, .ratio_max = 1e-9};

  EXPECT_EQ(CropFor(100, 100, {1, 0, 0}, sliver).width, 1u);
}

// The boxes that the Python code in README.md computes.
TEST(DrawTest, DrawsAreThoseOfTheSpecification) {
  EXPECT_EQ(AsTuple(CropFor(500, 375, {0, 0, 0})), std::tuple(107u, 85u, 323u, 260u));
  EXPECT_EQ(AsTuple(CropFor(500, 375, {~uint64_t{0}, 0xFFFFFFFF, (uint64_t{1} << 40) + 7})),
            std::tuple(35u, 6u, 445u, 359u));
  EXPECT_EQ(AsTuple(CropFor(333, 1000, {42, 3, 1281166})), std::tuple(11u, 495u, 211u, 247u));
  EXPECT_EQ(AsTuple(CropFor(2000, 100, {5, 6, 7})), std::tuple(933u, 0u, 133u, 100u));
  EXPECT_EQ(AsTuple(CropFor(4288, 2848, {123456789, 89, 50000})),
            std::tuple(1007u, 507u, 2141u, 2272u));
  EXPECT_TRUE(DrawFor({.flip_probability = 0.5}, {5, 6, 7}, 2000, 100).flip);
  EXPECT_FALSE(DrawFor({.flip_probability = 0.5}, {42, 3, 1281166}, 333, 1000).flip);
}

TEST(DrawTest, ACenterCropDrawsNoBox) {
  const Spec spec = {.geometry = Geometry::kResizeCenterCrop};

  EXPECT_EQ(AsTuple(CropFor(500, 375, {1, 2, 3}, spec)), std::tuple(0u, 0u, 500u, 375u));
}

TEST(DrawTest, SeedEpochAndSampleEachChangeTheDraw) {
  std::set<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>> boxes;
  const uint64_t values[] = {0, 1, 2, uint64_t{1} << 31};
  for (uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, uint64_t{1} << 63}) {
    for (uint64_t epoch : values) {
      for (uint64_t sample : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, uint64_t{1} << 63}) {
        boxes.insert(AsTuple(CropFor(60000, 60000, {seed, epoch, sample})));
      }
    }
  }

  EXPECT_EQ(boxes.size(), 64u);
}

TEST(DrawTest, TheFlipDoesNotMoveTheCrop) {
  const DrawKey key = {1, 2, 3};

  EXPECT_EQ(AsTuple(CropFor(500, 375, key, {.flip_probability = 0})),
            AsTuple(CropFor(500, 375, key, {.flip_probability = 1})));
}

TEST(DrawTest, FlipsComeAsOftenAsAsked) {
  for (double probability : {0.0, 0.25, 0.5, 1.0}) {
    int flips = 0;
    for (uint64_t sample = 0; sample < kDraws; ++sample) {
      flips += DrawFor({.flip_probability = probability}, {4, 0, sample}, 500, 375).flip;
    }
    EXPECT_NEAR(flips, probability * kDraws,
                4 * std::sqrt(kDraws * probability * (1 - probability)));
  }
}

// In a large image the first try always fits, so the results have the distribution of the first
// try.
class FirstTryTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kSide = 60000;
  static constexpr Spec kSpec = {.scale_min = 0.1, .scale_max = 0.4};

  template <typename Measure>
  static double ChiSquare(Measure measure) {
    Uniformity uniformity;
    for (uint64_t sample = 0; sample < kDraws; ++sample) {
      uniformity.Add(measure(CropFor(kSide, kSide, {11, 3, sample}, kSpec)));
    }
    return uniformity.ChiSquare();
  }
};

TEST_F(FirstTryTest, AreasAreUniform) {
  EXPECT_LT(ChiSquare([](const Box& box) {
              const double share = static_cast<double>(box.width) * box.height / kSide / kSide;
              return (share - 0.1) / 0.3;
            }),
            27.9);
}

TEST_F(FirstTryTest, LogarithmsOfRatiosAreUniform) {
  EXPECT_LT(ChiSquare([](const Box& box) {
              const double ratio = static_cast<double>(box.width) / box.height;
              return std::log(ratio * 4 / 3) / std::log(16.0 / 9);
            }),
            27.9);
}

TEST_F(FirstTryTest, PlacesAreUniform) {
  EXPECT_LT(ChiSquare([](const Box& box) { return box.x / (kSide + 1.0 - box.width); }), 27.9);
  EXPECT_LT(ChiSquare([](const Box& box) { return box.y / (kSide + 1.0 - box.height); }), 27.9);
}

}  // namespace
}  // namespace penstock::decode
