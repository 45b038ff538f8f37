// Tests that kept weights are those that were computed, and that they do not grow without a limit.
#include "client/gpu_decode/taps_cache.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::gpu_decode {
namespace {

using base::Interpolation;
using resample::Axis;
using resample::Taps;

void ExpectEqual(const Taps& taps, const Axis& axis, Interpolation interpolation) {
  Taps expected;
  expected.Compute(axis, interpolation);
  ASSERT_EQ(taps.outputs(), expected.outputs());
  for (uint32_t i = 0; i < taps.outputs(); ++i) {
    ASSERT_EQ(taps.inputs(i).first, expected.inputs(i).first);
    ASSERT_EQ(taps.inputs(i).count, expected.inputs(i).count);
    ASSERT_TRUE(
        std::equal(taps.weights(i), taps.weights(i) + taps.inputs(i).count, expected.weights(i)));
  }
}

TEST(TapsCacheTest, GivesTheWeightsOfEachAxis) {
  TapsCache cache;
  const Axis axes[] = {{300, 224, 0, 224}, {301, 224, 0, 224}, {300, 225, 0, 224},
                       {300, 225, 1, 224}, {300, 225, 1, 100}, {10, 224, 0, 224}};
  for (int round = 0; round < 2; ++round)
    for (const Axis& axis : axes)
      for (const Interpolation interpolation : {Interpolation::kNearest, Interpolation::kBilinear,
                                                Interpolation::kBicubic, Interpolation::kLanczos})
        ExpectEqual(*cache.Find(axis, interpolation), axis, interpolation);
}

TEST(TapsCacheTest, KeepsThem) {
  TapsCache cache;
  const auto first = cache.Find({300, 224, 0, 224}, Interpolation::kBilinear);
  EXPECT_EQ(cache.Find({300, 224, 0, 224}, Interpolation::kBilinear), first);
  EXPECT_GE(cache.bytes(), first->bytes());
}

TEST(TapsCacheTest, HasALimitAndWhatWasFoundOutlivesIt) {
  TapsCache cache;
  const auto first = cache.Find({20'000, 224, 0, 224}, Interpolation::kLanczos);
  for (uint32_t in = 1; in < 1'000; ++in) {
    cache.Find({20'000 + in, 224, 0, 224}, Interpolation::kLanczos);
    ASSERT_LE(cache.bytes(), TapsCache::kMostBytes);
  }
  EXPECT_NE(cache.Find({20'000, 224, 0, 224}, Interpolation::kLanczos), first);
  ExpectEqual(*first, {20'000, 224, 0, 224}, Interpolation::kLanczos);
}

}  // namespace
}  // namespace penstock::gpu_decode
