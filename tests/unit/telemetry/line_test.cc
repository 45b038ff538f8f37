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
  const std::vector<LogField> fields = {{"session", 7}, {"path", "/a b"}};

  EXPECT_EQ(FormatEvent("opened", fields, 0), R"(event=opened session=7 path="/a b")");
}

TEST(FormatEventTest, NumbersTextsAndTruthsAreTakenAsTheyAre) {
  const std::vector<LogField> fields = {
      {"count", uint64_t{18446744073709551615u}}, {"delta", -1}, {"rate", 0.5}, {"on", true}};

  EXPECT_EQ(FormatEvent("e", fields, 0),
            "event=e count=18446744073709551615 delta=-1 rate=0.5 on=true");
}

TEST(FormatEventTest, WhatWasLeftOutStandsAtTheEnd) {
  EXPECT_EQ(FormatEvent("e", std::vector<LogField>{{"a", 1}}, 12), "event=e a=1 suppressed=12");
}

TEST(FormatJsonEventTest, WhateverAValueHoldsTheLineIsJson) {
  const std::vector<LogField> fields = {
      {"path", "/a \"b\"\\\n\x01"}, {"bad", "x\xff\xc3"}, {"n", 7}};

  EXPECT_EQ(FormatJsonEvent("opened", fields, 0),
            R"("event":"opened","path":"/a \"b\"\\\u000a\u0001","bad":"x\ufffd\ufffd","n":"7")");
}

TEST(FormatJsonEventTest, CharactersOfEveryLengthStayAndWhatIsOverlongOrNoneDoesNot) {
  const auto value = [](absl::string_view text) {
    return FormatJsonEvent("e", std::vector<LogField>{{"v", text}}, 0).substr(16);
  };

  EXPECT_EQ(value("aé€😀"), R"("aé€😀")");
  for (const absl::string_view none :
       {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"})
    EXPECT_EQ(value(none).find("\\ufffd"), 1u);
}

TEST(FormatJsonEventTest, WhatWasLeftOutStandsAtTheEnd) {
  EXPECT_EQ(FormatJsonEvent("e", {}, 12), R"("event":"e","suppressed":"12")");
}

}  // namespace
}  // namespace penstock::telemetry
