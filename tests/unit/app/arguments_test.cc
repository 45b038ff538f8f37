#include "server/app/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace penstock::app {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Arguments> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "penstockd");
  return ParseArguments(static_cast<int>(arguments.size()), arguments.data());
}

std::string Refusal(std::vector<const char*> arguments) {
  const auto parsed = Parse(std::move(arguments));
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("penstockd --help"));
  return std::string(parsed.status().message());
}

TEST(ArgumentsTest, WhatIsNoArgumentIsNamed) {
  EXPECT_THAT(Refusal({"--confg", "x"}), HasSubstr("'--confg'"));
  EXPECT_THAT(Refusal({"penstock.yaml"}), HasSubstr("'penstock.yaml'"));
  EXPECT_THAT(Refusal({"-v"}), HasSubstr("'-v'"));
}

TEST(ArgumentsTest, AnArgumentWithoutItsValueIsNamed) {
  EXPECT_THAT(Refusal({"--config"}), HasSubstr("--config needs a value"));
  EXPECT_THAT(Refusal({"--workers="}), HasSubstr("--workers needs a value"));
  EXPECT_THAT(Refusal({"--config", "--workers", "3"}), HasSubstr("--config needs a value"));
}

TEST(ArgumentsTest, WorkersAreANumberFromOneTo1024) {
  for (const char* wrong : {"0", "1025", "-1", "two", "3.5", "99999999999"})
    EXPECT_THAT(Refusal({"--workers", wrong}), HasSubstr(wrong));

  EXPECT_EQ(Parse({"--workers", "1"})->workers, 1u);
  EXPECT_EQ(Parse({"--workers=1024"})->workers, 1024u);
}

TEST(ArgumentsTest, AnArgumentGivenTwiceIsRefused) {
  EXPECT_THAT(Refusal({"--config", "a", "--config", "b"}), HasSubstr("--config was given twice"));
  EXPECT_THAT(Refusal({"--config", "a", "--check-config", "b"}), HasSubstr("twice"));
  EXPECT_THAT(Refusal({"--workers", "1", "--workers=2"}), HasSubstr("--workers was given twice"));
}

TEST(ArgumentsTest, APrivateDaemonHasNoConfiguration) {
  EXPECT_THAT(Refusal({"--private", "/tmp/x", "--config", "a"}), HasSubstr("exclude each other"));
  EXPECT_THAT(Refusal({"--check-config", "a", "--private", "/tmp/x"}), HasSubstr("exclude"));
}

TEST(ArgumentsTest, ACheckMayCountARunningDaemonAsEnded) {
  const Arguments arguments = Parse({"--check-config", "a", "--instead-of", "17"}).value();
  EXPECT_EQ(arguments.action, Action::kCheckConfig);
  EXPECT_EQ(arguments.replaced, 17);
  EXPECT_EQ(Parse({"--check-syntax", "a"})->action, Action::kCheckSyntax);

  EXPECT_THAT(Refusal({"--check-config", "a", "--instead-of", "0"}), HasSubstr("'0'"));
  EXPECT_THAT(Refusal({"--config", "a", "--instead-of", "17"}), HasSubstr("--check-config"));
  EXPECT_THAT(Refusal({"--check-syntax", "a", "--config", "a"}), HasSubstr("twice"));
}

TEST(ArgumentsTest, OnlyAPrivateDaemonNeedsToBeToldToStay) {
  EXPECT_THAT(Refusal({"--stay", "--config", "a"}), HasSubstr("server.exit_when_idle"));
  EXPECT_THAT(Refusal({"--stay", "--stay"}), HasSubstr("twice"));
  EXPECT_THAT(Refusal({"--stay=yes"}), HasSubstr("no option '--stay=yes'"));

  EXPECT_TRUE(Parse({"--stay", "--private", "/tmp/x"})->stays);
  EXPECT_FALSE(Parse({"--private", "/tmp/x"})->stays);
}

TEST(ArgumentsTest, NoneMakeAPrivateDaemonInTheUsualPlace) {
  const Arguments arguments = Parse({}).value();

  EXPECT_EQ(arguments.action, Action::kRun);
  EXPECT_FALSE(arguments.config.has_value());
  EXPECT_EQ(arguments.directory, "");
  EXPECT_FALSE(arguments.workers.has_value());
}

TEST(ArgumentsTest, ValuesFollowABlankOrAnEqualsSign) {
  const Arguments blank = Parse({"--config", "/etc/p.yaml", "--workers", "3"}).value();
  const Arguments equals = Parse({"--config=/etc/p.yaml", "--workers=3"}).value();

  EXPECT_EQ(blank.config, "/etc/p.yaml");
  EXPECT_EQ(equals.config, "/etc/p.yaml");
  EXPECT_EQ(blank.workers, 3u);
  EXPECT_EQ(equals.workers, 3u);
  EXPECT_EQ(Parse({"--private=/tmp/x=y"})->directory, "/tmp/x=y");
}

TEST(ArgumentsTest, CheckingAConfigurationNamesIt) {
  const Arguments arguments = Parse({"--check-config", "p.yaml"}).value();

  EXPECT_EQ(arguments.action, Action::kCheckConfig);
  EXPECT_EQ(arguments.config, "p.yaml");
}

TEST(ArgumentsTest, HelpAndVersionNeedNothingElse) {
  EXPECT_EQ(Parse({"--help"})->action, Action::kHelp);
  EXPECT_EQ(Parse({"-h"})->action, Action::kHelp);
  EXPECT_EQ(Parse({"--workers", "3", "--version"})->action, Action::kVersion);
}

}  // namespace
}  // namespace penstock::app
