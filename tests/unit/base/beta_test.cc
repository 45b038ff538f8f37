#include "common/base/beta.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace penstock::base {
namespace {

using ::testing::ElementsAre;

DrawSource SourceFor(uint64_t sample) { return {.seed = 7, .epoch = 1, .sample = sample}; }

std::vector<double> Betas(double shape) {
  std::vector<double> values;
  for (uint64_t sample = 0; sample < 4; ++sample) {
    DrawSource source = SourceFor(sample);
    source.operation = 5u << 8;
    values.push_back(DrawBeta(shape, shape, source, 0));
  }
  return values;
}

// Values that the Python code of server/plan/README.md gives.
TEST(BetaTest, EqualsTheSpecification) {
  EXPECT_THAT(Betas(1e-9), ElementsAre(1.0, 1.0, 0x1.14f2b0fb92f8cp-1010, 1.0));
  EXPECT_THAT(Betas(0.2), ElementsAre(0x1.a2a703d7c6781p-1, 0x1.eacfce5ceaacap-1,
                                      0x1.e920f80bbcfeep-1, 0x1.ff4b03096150fp-1));
  EXPECT_THAT(Betas(1.0), ElementsAre(0x1.3998756b740dep-2, 0x1.eeb97554af142p-1,
                                      0x1.8054cf3396adfp-1, 0x1.9704bf4378d43p-1));
  EXPECT_THAT(Betas(3.5), ElementsAre(0x1.5d5f44bc83ee5p-4, 0x1.8ecc4eff8dadap-1,
                                      0x1.b8be06c1af2fep-1, 0x1.585c93a53e6acp-1));
  EXPECT_THAT(Betas(1e9), ElementsAre(0x1.fff9be08cfaa6p-2, 0x1.00021753927bfp-1,
                                      0x1.000309cedc40bp-1, 0x1.00018bdf918fcp-1));
  const double shapes[] = {1.0, 0.5, 3.0};
  double weights[3];
  DrawDirichlet(shapes, SourceFor(0), 256, weights);
  EXPECT_THAT(weights,
              ElementsAre(0x1.2133c778458b4p-2, 0x1.4344da6223eafp-4, 0x1.46fd80f798bd0p-1));
}

// The greatest distance between the sample's distribution and the true one, times √n: above 1.95
// once in a thousand.
double KolmogorovSmirnov(std::vector<double> values, double (*distribution)(double)) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double most = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = distribution(values[i]);
    most = std::max({most, std::abs(expected - static_cast<double>(i) / n),
                     std::abs(expected - static_cast<double>(i + 1) / n)});
  }
  return most * std::sqrt(n);
}

std::vector<double> ManyBetas(double a, double b) {
  std::vector<double> values;
  for (uint64_t sample = 0; sample < 20000; ++sample) {
    values.push_back(DrawBeta(a, b, SourceFor(sample), 0));
  }
  return values;
}

// Shapes whose distribution functions have a closed form.
TEST(BetaTest, HasTheBetaDistribution) {
  EXPECT_LT(KolmogorovSmirnov(ManyBetas(1, 1), [](double x) { return x; }), 1.95);
  EXPECT_LT(KolmogorovSmirnov(ManyBetas(2, 2), [](double x) { return x * x * (3 - 2 * x); }), 1.95);
  EXPECT_LT(KolmogorovSmirnov(ManyBetas(0.5, 0.5),
                              [](double x) { return 2 / M_PI * std::asin(std::sqrt(x)); }),
            1.95);
  EXPECT_LT(KolmogorovSmirnov(ManyBetas(0.2, 1), [](double x) { return std::pow(x, 0.2); }), 1.95);
}

TEST(BetaTest, AGammaVariateOfShapeOneIsExponential) {
  std::vector<double> values;
  for (uint64_t sample = 0; sample < 20000; ++sample) {
    values.push_back(std::exp(DrawLogGamma(1, SourceFor(sample), 0)));
  }
  EXPECT_LT(KolmogorovSmirnov(values, [](double x) { return 1 - std::exp(-x); }), 1.95);
}

TEST(BetaTest, ADirichletVariateOfOnesIsUniform) {
  const double shapes[] = {1, 1, 1};
  std::vector<double> firsts;
  for (uint64_t sample = 0; sample < 20000; ++sample) {
    double weights[3];
    DrawDirichlet(shapes, SourceFor(sample), 0, weights);
    EXPECT_NEAR(weights[0] + weights[1] + weights[2], 1.0, 1e-15);
    firsts.push_back(weights[0]);
  }
  EXPECT_LT(KolmogorovSmirnov(firsts, [](double x) { return 1 - (1 - x) * (1 - x); }), 1.95);
}

TEST(BetaTest, TheLeastShapeGivesNumbers) {
  for (uint64_t sample = 0; sample < 1000; ++sample) {
    const double value = DrawBeta(kLeastShape, kLeastShape, SourceFor(sample), 0);
    EXPECT_TRUE(value >= 0 && value <= 1) << value;
  }
}

}  // namespace
}  // namespace penstock::base
