#include "tests/bench/harness/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<Arguments> Parse(const std::vector<std::string>& words) {
  return ParseArguments(words, {"handoff", "decode"});
}

// The error message for invalid arguments; expects that it is one line.
std::string WordsTo(const std::vector<std::string>& words) {
  const auto arguments = Parse(words);
  EXPECT_TRUE(absl::IsInvalidArgument(arguments.status()));
  const std::string message(arguments.status().message());
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  return message;
}

TEST(ArgumentsTest, AWrongCallIsToldWhatToWriteInstead) {
  EXPECT_THAT(WordsTo({}), HasSubstr("a suite is missing; use one of handoff, decode"));
  EXPECT_THAT(WordsTo({"--data", "x"}), HasSubstr("a suite is missing"));
  EXPECT_THAT(WordsTo({"fly"}), HasSubstr("there is no suite 'fly'; use one of handoff, decode"));
  EXPECT_THAT(WordsTo({"decode", "handoff"}), HasSubstr("one suite at a time"));
  EXPECT_THAT(WordsTo({"decode", "--dta", "x"}), HasSubstr("there is no option '--dta'"));
  EXPECT_THAT(WordsTo({"decode", "--small=1"}), HasSubstr("there is no option '--small=1'"));
  EXPECT_THAT(WordsTo({"decode", "--data"}), HasSubstr("--data needs a value"));
  EXPECT_THAT(WordsTo({"decode", "--json="}), HasSubstr("--json needs a value"));
}

TEST(ArgumentsTest, ASuiteAloneIsMeasuredInFullOnGeneratedPhotographs) {
  const Arguments arguments = *Parse({"decode"});

  EXPECT_EQ(arguments.action, Action::kRun);
  EXPECT_EQ(arguments.suite, "decode");
  EXPECT_EQ(arguments.data, "");
  EXPECT_EQ(arguments.json, "");
  EXPECT_EQ(arguments.extent, Extent::kFull);
}

TEST(ArgumentsTest, OptionsMayStandAnywhere) {
  const Arguments arguments = *Parse({"--data=/d", "--small", "handoff", "--json", "-"});

  EXPECT_EQ(arguments.suite, "handoff");
  EXPECT_EQ(arguments.data, "/d");
  EXPECT_EQ(arguments.json, "-");
  EXPECT_EQ(arguments.extent, Extent::kSmall);
}

TEST(ArgumentsTest, HelpAndVersionNeedNoSuite) {
  EXPECT_EQ(Parse({"--help"})->action, Action::kHelp);
  EXPECT_EQ(Parse({"-h"})->action, Action::kHelp);
  EXPECT_EQ(Parse({"decode", "--version"})->action, Action::kVersion);
}

}  // namespace
}  // namespace penstock::bench
