#include "client/finish/effects/noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace penstock::finish {
namespace {

std::vector<double> ManyNormals(uint32_t which) {
  std::vector<double> values;
  for (uint64_t pixel = 0; pixel < 50000; ++pixel) values.push_back(NoiseOf(7, pixel, 0).at[which]);
  return values;
}

double NormalDistribution(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

TEST(NoiseTest, EachChannelIsNormal) {
  for (uint32_t channel = 0; channel < 4; ++channel) {
    std::vector<double> values = ManyNormals(channel);
    std::ranges::sort(values);
    const auto n = static_cast<double>(values.size());
    double most = 0;
    for (size_t i = 0; i < values.size(); ++i)
      most = std::max(most, std::abs(NormalDistribution(values[i]) - (i + 0.5) / n));
    EXPECT_LT(most * std::sqrt(n), 1.95) << channel;  // Kolmogorov-Smirnov: once in a thousand
  }
}

TEST(NoiseTest, ChannelsAndPixelsDoNotDependOnEachOther) {
  std::vector<double> all[4];
  for (uint32_t channel = 0; channel < 4; ++channel) all[channel] = ManyNormals(channel);
  const auto correlation = [](const std::vector<double>& a, const std::vector<double>& b,
                              size_t lag) {
    double sum = 0;
    for (size_t i = lag; i < a.size(); ++i) sum += a[i] * b[i - lag];
    return std::abs(sum) / std::sqrt(static_cast<double>(a.size() - lag));
  };
  for (uint32_t a = 0; a < 4; ++a)
    for (uint32_t b = 0; b < 4; ++b)
      for (const size_t lag : {size_t{0}, size_t{1}, size_t{224}})
        if (a != b || lag != 0) {
          EXPECT_LT(correlation(all[a], all[b], lag), 4.5) << a << b << lag;
        }
}

TEST(NoiseTest, IsNearBoxAndMullersFormula) {
  for (uint32_t word = 0; word < 0xFFF00000; word += 0x000FEDCB) {
    float first = 0, second = 0;
    TwoNormals(word, ~word * 5, &first, &second);
    const double radius = std::sqrt(-2 * std::log(((word >> 9) * 2 + 1) / 16777216.0));
    const uint32_t angle = ~word * 5;
    const double turn =
        (angle >> 30) * M_PI / 2 + (static_cast<int32_t>(angle << 2) >> 8) * (M_PI / 4) / 8388608.0;
    ASSERT_NEAR(first, radius * std::cos(turn), 3e-6) << word;
    ASSERT_NEAR(second, radius * std::sin(turn), 3e-6) << word;
  }
}

TEST(NoiseTest, TheLargestIsFinite) {
  EXPECT_NEAR(RadiusOf(0), 5.77, 0.01);
  EXPECT_NEAR(RadiusOf(~0u), 3.5e-4, 1e-4);
}

}  // namespace
}  // namespace penstock::finish
