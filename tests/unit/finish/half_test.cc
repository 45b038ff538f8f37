#include "client/finish/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace penstock::finish {
namespace {

float FromHalf(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const float fraction = static_cast<float>(half & 1023);
  const float magnitude = exponent == 31  ? std::numeric_limits<float>::infinity()
                          : exponent == 0 ? std::ldexp(fraction, -24)
                                          : std::ldexp(1024.0f + fraction, exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

TEST(HalfTest, EveryHalfComesBackAsItself) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7C00) == 0x7C00 && (bits & 0x3FF) != 0) continue;  // NaN

    ASSERT_EQ(ToHalf(FromHalf(static_cast<uint16_t>(bits))), bits);
  }
}

TEST(HalfTest, WhatLiesBetweenTwoHalvesGoesToTheNearerOneAndTiesToTheEvenOne) {
  for (uint16_t bits = 0; bits < 0x7BFF; ++bits) {
    const float low = FromHalf(bits), high = FromHalf(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;

    ASSERT_EQ(ToHalf(middle), bits % 2 == 0 ? bits : bits + 1) << bits;
    ASSERT_EQ(ToHalf(std::nextafter(middle, low)), bits);
    ASSERT_EQ(ToHalf(std::nextafter(middle, high)), bits + 1);
    ASSERT_EQ(ToHalf(-std::nextafter(middle, high)), (bits + 1) | 0x8000);
  }
}

TEST(HalfTest, WhatIsBeyondItsRangeIsInfinite) {
  EXPECT_EQ(ToHalf(65504.0f), 0x7BFF);
  EXPECT_EQ(ToHalf(65519.996f), 0x7BFF);
  EXPECT_EQ(ToHalf(65520.0f), 0x7C00);
  EXPECT_EQ(ToHalf(1e30f), 0x7C00);
  EXPECT_EQ(ToHalf(-std::numeric_limits<float>::infinity()), 0xFC00);
}

TEST(BFloat16Test, IsTheUpperHalfRoundedToNearestEven) {
  EXPECT_EQ(ToBFloat16(1.0f), 0x3F80);
  EXPECT_EQ(ToBFloat16(std::bit_cast<float>(0x3F808000u)), 0x3F80);  // a tie, to even
  EXPECT_EQ(ToBFloat16(std::bit_cast<float>(0x3F818000u)), 0x3F82);  // a tie, to even
  EXPECT_EQ(ToBFloat16(std::bit_cast<float>(0x3F808001u)), 0x3F81);
  EXPECT_EQ(ToBFloat16(std::bit_cast<float>(0xBF80FFFFu)), 0xBF81);
  EXPECT_EQ(ToBFloat16(std::numeric_limits<float>::max()), 0x7F80);
}

}  // namespace
}  // namespace penstock::finish
