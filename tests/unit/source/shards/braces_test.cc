#include "server/source/files/braces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Expand(const std::string& pattern) {
  auto all = ExpandBraces(pattern);
  EXPECT_TRUE(all.ok()) << all.status();
  return all.ok() ? *std::move(all) : std::vector<std::string>();
}

TEST(BracesTest, WhatMeansNothingIsRefusedWithThePatternAndExamples) {
  for (const std::string pattern :
       {"a{b", "a}b", "a{{0..1},2}", "a{}", "a{x..y}", "a{1}", "a{0..1..2..3}", "a{0..9..0}",
        "a{-1..1}", "a{0..99999999999999999999}", "{0..9999999}", "{0..9999}{0..9999}"}) {
    const auto all = ExpandBraces(pattern);
    ASSERT_TRUE(absl::IsInvalidArgument(all.status())) << pattern;
    EXPECT_THAT(all.status().message(), HasSubstr("'" + pattern + "'"));
    EXPECT_THAT(all.status().message(), HasSubstr("{000..146}"));
  }
}

TEST(BracesTest, ATextWithoutThemIsItself) {
  EXPECT_THAT(Expand("/data/a.tar"), ElementsAre("/data/a.tar"));
  EXPECT_FALSE(HasBraces("/data/a.tar"));
  EXPECT_TRUE(HasBraces("/data/{0..1}.tar"));
}

TEST(BracesTest, RangesCountWithTheLeadingZerosThatTheyHave) {
  EXPECT_THAT(Expand("t-{008..011}.tar"),
              ElementsAre("t-008.tar", "t-009.tar", "t-010.tar", "t-011.tar"));
  EXPECT_THAT(Expand("{8..11}"), ElementsAre("8", "9", "10", "11"));
  EXPECT_THAT(Expand("{0..010..5}"), ElementsAre("000", "005", "010"));
  EXPECT_THAT(Expand("{0..3}"), ElementsAre("0", "1", "2", "3"));
}

TEST(BracesTest, RangesMayCountDownAndBySteps) {
  EXPECT_THAT(Expand("{2..0}"), ElementsAre("2", "1", "0"));
  EXPECT_THAT(Expand("{0..7..3}"), ElementsAre("0", "3", "6"));
  EXPECT_THAT(Expand("{7..0..3}"), ElementsAre("7", "4", "1"));
}

TEST(BracesTest, ChoicesComeInTheirOrderTheLastBracesChangingFastest) {
  EXPECT_THAT(Expand("{train,val}-{0..1}.tar"),
              ElementsAre("train-0.tar", "train-1.tar", "val-0.tar", "val-1.tar"));
  EXPECT_THAT(Expand("a{,.old}"), ElementsAre("a", "a.old"));
}

}  // namespace
}  // namespace penstock::source
