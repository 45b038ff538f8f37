#include "common/telemetry/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace penstock::telemetry {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class LogTest : public testing::Test {
 protected:
  void SetUp() override { testing::internal::CaptureStderr(); }
  void TearDown() override {
    SetLevel(Level::kInfo);
    SetFormat(Format::kText);
  }
  std::string Written() { return testing::internal::GetCapturedStderr(); }
};

int Count(const std::string& text, char wanted) {
  return static_cast<int>(std::count(text.begin(), text.end(), wanted));
}

TEST_F(LogTest, WhatIsBelowTheLevelIsNeitherWrittenNorComputed) {
  int computed = 0;

  PENSTOCK_LOG(kDebug, "quiet", {"value", ++computed});

  EXPECT_EQ(Written(), "");
  EXPECT_EQ(computed, 0);
}

TEST_F(LogTest, TheLevelCanBeChangedAtRunTime) {
  SetLevel(Level::kDebug);
  PENSTOCK_LOG(kDebug, "heard");
  SetLevel(Level::kError);
  PENSTOCK_LOG(kWarning, "unheard");

  const std::string written = Written();
  EXPECT_THAT(written, HasSubstr("event=heard"));
  EXPECT_EQ(Count(written, '\n'), 1);
}

TEST_F(LogTest, AnEventIsOneLineWithTimeLevelNameAndFields) {
  PENSTOCK_LOG(kWarning, "worker_exited", {"pid", 4711}, {"reason", "out of\nmemory"});

  EXPECT_THAT(Written(),
              MatchesRegex("time=[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+\\.[0-9][0-9][0-9]Z "
                           "level=warning event=worker_exited pid=4711 "
                           "reason=\"out of.nmemory\"\n"));
}

TEST_F(LogTest, WhatWasSuppressedStandsAtTheEnd) {
  Log(Level::kInfo, "e", {{"a", 1}}, 12);

  EXPECT_THAT(Written(), HasSubstr("event=e a=1 suppressed=12\n"));
}

TEST_F(LogTest, AJsonLineIsOneObjectWithTypedValues) {
  SetFormat(Format::kJson);
  Log(Level::kWarning, "e", {{"a", 1}, {"b", "x"}}, 12);

  EXPECT_THAT(Written(),
              MatchesRegex("\\{\"time\":\"[-0-9T:.]+Z\",\"level\":\"warning\",\"event\":\"e\","
                           "\"a\":1,\"b\":\"x\",\"suppressed\":12\\}\n"));
}

TEST_F(LogTest, BracesInAMessageAreNoFormatString) {
  Log(Level::kInfo, "e", {{"text", "{} {0} %s"}});

  EXPECT_THAT(Written(), HasSubstr("text=\"{} {0} %s\""));
}

TEST_F(LogTest, OnePlaceWritesAtMostTenLinesAtOnce) {
  for (int i = 0; i < 100; ++i) PENSTOCK_LOG(kInfo, "storm", {"i", i});

  EXPECT_EQ(Count(Written(), '\n'), 10);
}

TEST_F(LogTest, OnePlaceDoesNotSilenceAnother) {
  for (int i = 0; i < 100; ++i) PENSTOCK_LOG(kInfo, "storm", {"i", i});
  PENSTOCK_LOG(kInfo, "calm");

  EXPECT_THAT(Written(), HasSubstr("event=calm"));
}

TEST(ParseLevelTest, AnUnknownLevelIsRefusedWithTheKnownOnes) {
  const absl::StatusOr<Level> level = ParseLevel("loud");

  ASSERT_FALSE(level.ok());
  EXPECT_THAT(std::string(level.status().message()), HasSubstr("debug, info, warning or error"));
}

TEST(ParseLevelTest, KnownLevelsAreRead) {
  EXPECT_EQ(ParseLevel("debug").value(), Level::kDebug);
  EXPECT_EQ(ParseLevel("error").value(), Level::kError);
}

}  // namespace
}  // namespace penstock::telemetry
