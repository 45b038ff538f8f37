#include "common/telemetry/line.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock::telemetry {
namespace {

TEST(FormatValueTest, ALineBreakNeverBecomesASecondLine) {
  EXPECT_EQ(FormatValue("a\nlevel=error\r"), R"("a\nlevel=error\r")");
}

TEST(FormatValueTest, ControlBytesCannotReachATerminal) {
  EXPECT_EQ(FormatValue("\x1b[2J\x7f\t"), R"("\x1b[2J\x7f\t")");
}

TEST(FormatValueTest, QuotesAndBackslashesCanBeReadBack) {
  EXPECT_EQ(FormatValue(R"(say "C:\")"), R"("say \"C:\\\"")");
}

TEST(FormatValueTest, AnEmptyValueIsVisible) { EXPECT_EQ(FormatValue(""), R"("")"); }

TEST(FormatValueTest, AnEqualsSignIsQuoted) { EXPECT_EQ(FormatValue("a=b"), R"("a=b")"); }

TEST(FormatValueTest, PlainWordsPathsAndUtf8StayAsTheyAre) {
  EXPECT_EQ(FormatValue("/data/Bäume/0001.jpg"), "/data/Bäume/0001.jpg");
}

TEST(FormatEventTest, FieldsKeepTheirOrder) {
  const std::vector<Field> fields = {{"session", 7}, {"path", "/a b"}};

  EXPECT_EQ(FormatEvent("opened", fields, 0), R"(event=opened session=7 path="/a b")");
}

TEST(FormatEventTest, NumbersTextsAndTruthsAreTakenAsTheyAre) {
  const std::vector<Field> fields = {
      {"count", uint64_t{18446744073709551615u}}, {"delta", -1}, {"rate", 0.5}, {"on", true}};

  EXPECT_EQ(FormatEvent("e", fields, 0),
            "event=e count=18446744073709551615 delta=-1 rate=0.5 on=true");
}

TEST(FormatEventTest, WhatWasLeftOutStandsAtTheEnd) {
  EXPECT_EQ(FormatEvent("e", std::vector<Field>{{"a", 1}}, 12), "event=e a=1 suppressed=12");
}

}  // namespace
}  // namespace penstock::telemetry
