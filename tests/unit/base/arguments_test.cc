#include "common/base/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::base {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Option kOptions[] = {{.name = "--output", .letter = "-o"},
                           {.name = "--data"},
                           {.name = "--small", .kind = OptionKind::kSwitch},
                           {.name = "--help", .kind = OptionKind::kFinal, .letter = "-h"}};

absl::StatusOr<GivenArguments> Split(const std::vector<std::string>& arguments) {
  return SplitArguments(arguments, kOptions, "program");
}

std::string Refusal(const std::vector<std::string>& arguments) {
  const auto given = Split(arguments);
  EXPECT_TRUE(absl::IsInvalidArgument(given.status())) << given.status();
  return std::string(given.status().message());
}

TEST(ArgumentsTest, AnUnknownOptionIsNamed) {
  EXPECT_EQ(Refusal({"--outptu", "x"}), "there is no option '--outptu'; see 'program --help'");
  EXPECT_EQ(Refusal({"--outptu=x"}), "there is no option '--outptu'; see 'program --help'");
  EXPECT_EQ(Refusal({"-x"}), "there is no option '-x'; see 'program --help'");
  EXPECT_EQ(Refusal({"-ox"}), "there is no option '-ox'; see 'program --help'");
  EXPECT_EQ(Refusal({"---"}), "there is no option '---'; see 'program --help'");
}

TEST(ArgumentsTest, ASwitchTakesNoValue) {
  EXPECT_EQ(Refusal({"--small=1"}), "there is no option '--small=1'; see 'program --help'");
  EXPECT_EQ(Refusal({"--help=me"}), "there is no option '--help=me'; see 'program --help'");
}

TEST(ArgumentsTest, AMissingValueIsNamedAndSwallowsNoOption) {
  EXPECT_EQ(Refusal({"--output"}), "--output needs a value; see 'program --help'");
  EXPECT_EQ(Refusal({"--output="}), "--output needs a value; see 'program --help'");
  EXPECT_EQ(Refusal({"--output", ""}), "--output needs a value; see 'program --help'");
  EXPECT_EQ(Refusal({"-o", "--small"}), "-o needs a value; see 'program --help'");
}

TEST(ArgumentsTest, OptionsMayStandAnywhere) {
  const GivenArguments given = *Split({"--data", "d", "first", "--small", "second", "-o", "x"});

  EXPECT_THAT(given.words, ElementsAre("first", "second"));
  EXPECT_THAT(given.options, ElementsAre(GivenOption{"--data", "d"}, GivenOption{"--small", ""},
                                         GivenOption{"--output", "x"}));
  EXPECT_EQ(given.final_option, "");
}

TEST(ArgumentsTest, AValueMayFollowAnEqualsSign) {
  EXPECT_THAT(Split({"--data=a=b"})->options, ElementsAre(GivenOption{"--data", "a=b"}));
  EXPECT_THAT(Split({"-o=x"})->options, ElementsAre(GivenOption{"--output", "x"}));
  EXPECT_THAT(Split({"--data=--small"})->options, ElementsAre(GivenOption{"--data", "--small"}));
}

TEST(ArgumentsTest, AValueMayBeginWithOneDash) {
  EXPECT_THAT(Split({"-o", "-"})->options, ElementsAre(GivenOption{"--output", "-"}));
  EXPECT_THAT(Split({"--data", "-1"})->options, ElementsAre(GivenOption{"--data", "-1"}));
}

TEST(ArgumentsTest, OptionsThatAreGivenTwiceComeTwice) {
  EXPECT_THAT(Split({"-o", "a", "--output=b"})->options,
              ElementsAre(GivenOption{"--output", "a"}, GivenOption{"--output", "b"}));
}

TEST(ArgumentsTest, BehindTwoDashesNothingIsAnOption) {
  EXPECT_THAT(Split({"a", "--", "-o", "--", "--help"})->words,
              ElementsAre("a", "-o", "--", "--help"));
  EXPECT_THAT(Split({"--"})->words, IsEmpty());
}

TEST(ArgumentsTest, OneDashAndTheEmptyWordAreWords) {
  EXPECT_THAT(Split({"-", ""})->words, ElementsAre("-", ""));
}

TEST(ArgumentsTest, WhatFollowsAFinalOptionIsNotRead) {
  const GivenArguments given = *Split({"word", "-h", "--nonsense"});

  EXPECT_EQ(given.final_option, "--help");
  EXPECT_THAT(given.words, ElementsAre("word"));
}

}  // namespace
}  // namespace penstock::base
