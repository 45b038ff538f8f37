#include "server/status/exposition.h"

#include <gtest/gtest.h>

#include <limits>

namespace penstock::status {
namespace {

std::string OneGauge(const std::vector<Label>& labels, double value) {
  const std::string text = Format({{"x", "h", MetricType::kGauge, {{labels, value}}}});
  return text.substr(text.rfind('\n', text.size() - 2) + 1);
}

TEST(ExpositionTest, FamiliesWithoutSamplesAreLeftOut) {
  EXPECT_EQ(Format({{"x", "h", MetricType::kGauge, {}}}), "");
  EXPECT_EQ(Format({}), "");
}

TEST(ExpositionTest, ValuesOfLabelsAreEscaped) {
  EXPECT_EQ(OneGauge({{"l", "a\"b\\c\nd"}}, 1), "x{l=\"a\\\"b\\\\c\\nd\"} 1\n");
}

TEST(ExpositionTest, HelpsAreEscapedButTheirQuotesStay) {
  EXPECT_EQ(Format({{"x", "a\"b\\c\nd", MetricType::kGauge, {{{}, 1}}}}),
            "# HELP x a\"b\\\\c\\nd\n# TYPE x gauge\nx 1\n");
}

TEST(OpenMetricsTest, FamiliesOfCountersHaveNoSuffixAndTheEndIsMarked) {
  EXPECT_EQ(
      Format({{"x_total", "a \"b\"", MetricType::kCounter, {{{}, 1}}}}, TextFormat::kOpenMetrics),
      "# HELP x a \\\"b\\\"\n# TYPE x counter\nx_total 1\n# EOF\n");
}

TEST(OpenMetricsTest, OnlyOpenMetricsShowsExemplars) {
  Sample bucket = {{{"le", "1.0"}}, 3, "_bucket"};
  bucket.exemplar = {.labels = {{"session", "7"}, {"trace_id", "4bf9"}}, .value = 0.25};
  const std::vector<Family> families = {{"x", "h", MetricType::kHistogram, {bucket}}};

  EXPECT_EQ(Format(families, TextFormat::kOpenMetrics),
            "# HELP x h\n# TYPE x histogram\nx_bucket{le=\"1.0\"} 3 # "
            "{session=\"7\",trace_id=\"4bf9\"} 0.25\n# EOF\n");
  EXPECT_EQ(Format(families), "# HELP x h\n# TYPE x histogram\nx_bucket{le=\"1.0\"} 3\n");
}

TEST(ExpositionTest, WhatIsNotUtf8IsWrittenAsQuestionMarks) {
  EXPECT_EQ(OneGauge({{"l", "\xff"}}, 1), "x{l=\"?\"} 1\n");
  EXPECT_EQ(OneGauge({{"l", "a\xc3"}}, 1), "x{l=\"a?\"} 1\n");               // cut off
  EXPECT_EQ(OneGauge({{"l", "\xc0\xaf"}}, 1), "x{l=\"??\"} 1\n");            // overlong
  EXPECT_EQ(OneGauge({{"l", "\xed\xa0\x80"}}, 1), "x{l=\"???\"} 1\n");       // a surrogate
  EXPECT_EQ(OneGauge({{"l", "\xf4\x90\x80\x80"}}, 1), "x{l=\"????\"} 1\n");  // beyond Unicode
  EXPECT_EQ(OneGauge({{"l", "\xe0\x80\xaf"}}, 1), "x{l=\"???\"} 1\n");
}

TEST(ExpositionTest, WhatIsUtf8Stays) {
  for (const std::string text : {"é", "水", "🚰", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"})
    EXPECT_EQ(OneGauge({{"l", text}}, 1), "x{l=\"" + text + "\"} 1\n");
}

TEST(ExpositionTest, NumbersReadBackAsTheSame) {
  for (const double value : {0.1, 1.0 / 3, 1e-9, 123456789.123, 9007199254740991.0, 1.8e19}) {
    const std::string text = OneGauge({}, value);
    EXPECT_EQ(std::stod(text.substr(2)), value) << text;
  }
  EXPECT_EQ(OneGauge({}, 1281167), "x 1281167\n");
  EXPECT_EQ(OneGauge({}, std::numeric_limits<double>::infinity()), "x +Inf\n");
  EXPECT_EQ(OneGauge({}, std::numeric_limits<double>::quiet_NaN()), "x NaN\n");
}

TEST(ExpositionTest, SeriesOfAHistogramHaveNamesOfTheirOwn) {
  EXPECT_EQ(Format({{"x",
                     "h",
                     MetricType::kHistogram,
                     {{{{"le", "+Inf"}}, 3, "_bucket"}, {{}, 3, "_count"}}}}),
            "# HELP x h\n# TYPE x histogram\nx_bucket{le=\"+Inf\"} 3\nx_count 3\n");
}

TEST(ExpositionTest, AFamilyIsHelpTypeAndItsSamples) {
  EXPECT_EQ(
      Format(
          {{"a_total", "Things.", MetricType::kCounter, {{{{"k", "v"}, {"l", "w"}}, 2}, {{}, 3}}},
           {"b", "Others.", MetricType::kGauge, {{{}, 0.5}}}}),
      "# HELP a_total Things.\n# TYPE a_total counter\n"
      "a_total{k=\"v\",l=\"w\"} 2\na_total 3\n"
      "# HELP b Others.\n# TYPE b gauge\nb 0.5\n");
}

}  // namespace
}  // namespace penstock::status
