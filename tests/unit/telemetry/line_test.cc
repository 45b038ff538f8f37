#include "common/telemetry/line.h"

#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <string>
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

  EXPECT_EQ(FormatEvent("opened", fields), R"(event=opened session=7 path="/a b")");
}

TEST(FormatEventTest, NumbersTextsAndTruthsAreTakenAsTheyAre) {
  const std::vector<LogField> fields = {
      {"count", uint64_t{18446744073709551615u}}, {"delta", -1}, {"rate", 0.5}, {"on", true}};

  EXPECT_EQ(FormatEvent("e", fields),
            "event=e count=18446744073709551615 delta=-1 rate=0.5 on=true");
}

TEST(FormatJsonEventTest, WhateverAValueHoldsTheLineIsJson) {
  const std::vector<LogField> fields = {
      {"path", "/a \"b\"\\\n\x01"}, {"bad", "x\xff\xc3"}, {"n", 7}};

  EXPECT_EQ(FormatJsonEvent("opened", fields),
            R"("event":"opened","path":"/a \"b\"\\\u000a\u0001","bad":"x\ufffd\ufffd","n":7)");
}

TEST(FormatJsonEventTest, CharactersOfEveryLengthStayAndWhatIsOverlongOrNoneDoesNot) {
  const auto value = [](absl::string_view text) {
    return FormatJsonEvent("e", std::vector<LogField>{{"v", text}}).substr(16);
  };

  EXPECT_EQ(value("aé€😀"), R"("aé€😀")");
  for (const absl::string_view none :
       {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"})
    EXPECT_EQ(value(none).find("\\ufffd"), 1u);
}

TEST(FormatJsonEventTest, NumbersAndTruthsHaveTheirJsonTypes) {
  const std::vector<LogField> fields = {{"count", uint64_t{18446744073709551615u}},
                                        {"delta", -1},
                                        {"rate", 0.5},
                                        {"on", true},
                                        {"off", false},
                                        {"digits", "12"}};

  EXPECT_EQ(FormatJsonEvent("e", fields),
            R"("event":"e","count":18446744073709551615,"delta":-1,"rate":0.5,"on":true,)"
            R"("off":false,"digits":"12")");
}

TEST(FormatJsonEventTest, WhatIsNoJsonNumberIsAString) {
  const std::vector<LogField> fields = {{"a", std::numeric_limits<double>::infinity()},
                                        {"b", std::numeric_limits<double>::quiet_NaN()}};

  EXPECT_EQ(FormatJsonEvent("e", fields), R"("event":"e","a":"inf","b":"nan")");
}

TEST(BoundedTest, WhatFitsStaysAsItIs) {
  const std::vector<LogField> fields = {{"a", std::string(kMaxEventBytes - 1, 'x')}, {"b", 7}};

  const std::vector<LogField> bounded = Bounded(fields);

  EXPECT_EQ(bounded[0].value, fields[0].value);
  EXPECT_EQ(bounded[1].value, "7");
}

TEST(BoundedTest, AValueThatIsTooLongSaysHowMuchIsMissing) {
  const std::vector<LogField> fields = {{"a", std::string(kMaxEventBytes + 100, 'x')}, {"b", "yz"}};

  const std::vector<LogField> bounded = Bounded(fields);

  EXPECT_EQ(bounded[0].value, std::string(kMaxEventBytes, 'x') + "… [100 bytes left out]");
  EXPECT_EQ(bounded[1].value, "… [2 bytes left out]");
}

TEST(BoundedTest, NoCharacterIsCutInHalf) {
  const std::vector<LogField> fields = {{"a", std::string(kMaxEventBytes - 1, 'x') + "é"}};

  EXPECT_EQ(Bounded(fields)[0].value,
            std::string(kMaxEventBytes - 1, 'x') + "… [2 bytes left out]");
}

TEST(BoundedTest, ANumberThatIsCutIsNoNumberAnyMore) {
  const std::vector<LogField> fields = {{"a", std::string(kMaxEventBytes - 1, 'x')}, {"b", 77}};

  const std::vector<LogField> bounded = Bounded(fields);

  EXPECT_EQ(FormatJsonEvent("e", std::span(bounded).subspan(1)),
            R"("event":"e","b":"7… [1 bytes left out]")");
}

}  // namespace
}  // namespace penstock::telemetry
