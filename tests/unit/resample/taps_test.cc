// The weights along one axis, and the sine that Lanczos' need.
#include "common/resample/taps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "common/resample/sine.h"

namespace penstock::resample {
namespace {

using base::Interpolation;

constexpr int kOne = 1 << kWeightBits;
constexpr Interpolation kFilters[] = {Interpolation::kLanczos, Interpolation::kBilinear,
                                      Interpolation::kBicubic};

std::vector<int> WeightsOf(const Taps& taps, uint32_t output) {
  const int32_t* weights = taps.weights(output);
  return {weights, weights + taps.inputs(output).count};
}

TEST(TapsTest, HalvingBicubicallyTakesEightPixelsWithNegativeOnesOutside) {
  Taps taps;
  taps.Compute({100, 50, 0, 50}, Interpolation::kBicubic);

  const std::vector<int> wanted = {-49152,  -147456, 475136,  1818624,
                                   1818624, 475136,  -147456, -49152};
  EXPECT_EQ(taps.inputs(20).first, 37u);
  EXPECT_EQ(WeightsOf(taps, 20), wanted);
}

TEST(TapsTest, WithoutAChangeOfSizeEveryFilterTakesThePixelItself) {
  for (const Interpolation interpolation : {Interpolation::kNearest, Interpolation::kLanczos,
                                            Interpolation::kBilinear, Interpolation::kBicubic}) {
    Taps taps;
    taps.Compute({70, 70, 0, 70}, interpolation);
    for (uint32_t i = 0; i < 70; ++i) {
      EXPECT_EQ(taps.inputs(i).first, i);
      EXPECT_EQ(WeightsOf(taps, i), std::vector<int>{kOne});
    }
  }
}

TEST(TapsTest, NearestTakesTheInputBelowTheCentre) {
  Taps taps;
  taps.Compute({10, 4, 0, 4}, Interpolation::kNearest);  // centres 1.25, 3.75, 6.25, 8.75

  const uint32_t wanted[] = {1, 3, 6, 8};
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(taps.inputs(i).first, wanted[i]);
  EXPECT_EQ(taps.max_count(), 1u);
}

TEST(TapsTest, NearestStaysInsideForTheLargestSides) {
  Taps taps;
  for (const uint32_t in : {1u, 3u, 7u, 16383u, 65535u}) {
    for (const uint32_t out : {1u, 3u, 16381u, 16384u}) {
      taps.Compute({in, out, 0, out}, Interpolation::kNearest);
      const uint64_t middle = (2 * uint64_t{out} - 1) * in / (2 * uint64_t{out});
      EXPECT_EQ(taps.inputs(out - 1).first, middle) << in << " to " << out;
    }
  }
}

TEST(TapsTest, InputsLieInsideAndWeightsSumToOneWithinRounding) {
  for (const Interpolation interpolation : kFilters) {
    for (uint32_t in = 1; in <= 40; ++in) {
      for (uint32_t out = 1; out <= 90; ++out) {
        Taps taps;
        taps.Compute({in, out, 0, out}, interpolation);
        for (uint32_t i = 0; i < out; ++i) {
          ASSERT_LE(taps.inputs(i).first + taps.inputs(i).count, in);
          int sum = 0;
          for (const int weight : WeightsOf(taps, i)) sum += weight;
          ASSERT_NEAR(sum, kOne, 20);
        }
      }
    }
  }
}

// The bound that taps.h states, on which the kernels rely.
TEST(TapsTest, AbsoluteWeightsStayBelowTheBound) {
  int64_t most = 0, largest = 0;
  for (const Interpolation interpolation : kFilters) {
    for (const uint32_t in : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 13u, 31u, 100u, 1000u}) {
      for (uint32_t out = 1; out <= 1500; out += out < 100 ? 1 : 37) {
        Taps taps;
        taps.Compute({in, out, 0, out}, interpolation);
        for (uint32_t i = 0; i < out; ++i) {
          int64_t sum = 0;
          for (const int weight : WeightsOf(taps, i)) {
            sum += std::abs(weight);
            largest = std::max<int64_t>(largest, std::abs(weight));
          }
          most = std::max(most, sum);
        }
      }
    }
  }
  EXPECT_LT(static_cast<double>(most) / kOne, 1.9);
  EXPECT_GT(static_cast<double>(most) / kOne, 1.5);
  EXPECT_LT(largest, 127 << 16);
}

// Enlarging three times, every third output has one weight and its neighbours have six.
TEST(TapsTest, KeepsWhatALaterOutputNeedsOfEarlierInputs) {
  Taps taps;
  taps.Compute({57, 171, 0, 171}, Interpolation::kLanczos);

  EXPECT_EQ(taps.inputs(31).count, 1u);
  EXPECT_EQ(taps.inputs(30).count, 6u);
  uint32_t end = 0;
  for (uint32_t i = 0; i < taps.outputs(); ++i) {
    end = std::max(end, taps.inputs(i).first + taps.inputs(i).count);
    EXPECT_LE(end - taps.inputs(i).first, taps.kept());
  }
}

TEST(SineTest, IsWithinABitOfTheTrueValue) {
  constexpr int kPoints = 1'000'000;
  for (int i = 0; i <= kPoints; ++i) {
    const double x = 9.42477796 * i / kPoints;
    const double wanted = std::sin(x);
    const double unit = std::nextafter(std::abs(wanted), 2.0) - std::abs(wanted);
    ASSERT_NEAR(Sine(x), wanted, std::max(1.01 * unit, 0x1p-57)) << x;
  }
}

TEST(SineTest, HasTheseBitsOnEveryMachine) {
  EXPECT_EQ(Sine(0.0), 0.0);
  EXPECT_EQ(Sine(0.1), 0x1.98eaecb8bcb2cp-4);
  EXPECT_EQ(Sine(1.0), 0x1.aed548f090ceep-1);
  EXPECT_EQ(Sine(2.5), 0x1.326af0dcfcab1p-1);
  EXPECT_EQ(Sine(9.0), 0x1.a6026360c2f91p-2);
}

}  // namespace
}  // namespace penstock::resample
