#include "client/ctl/table.h"

#include <gtest/gtest.h>

#include <limits>

namespace penstock::ctl {
namespace {

TEST(OneLineTest, NothingControlsATerminalOrChangesTheDirectionOfText) {
  EXPECT_EQ(OneLine("a\x1b[31mb\nc\x7f"), "a?[31mb?c?");
  EXPECT_EQ(OneLine("\xc2\x9b"
                    "31m"),
            "?31m");  // CSI as one character
  EXPECT_EQ(OneLine("\xe2\x80\xae"
                    "gpj.exe\xe2\x81\xa6"),
            "?gpj.exe?");  // an override, an isolate
  EXPECT_EQ(OneLine("Gr\xc3\xbc\xc3\x9f"
                    "e \xe2\x80\xa6 \xe2\x80"),
            "Gr\xc3\xbc\xc3\x9f"
            "e \xe2\x80\xa6 \xe2\x80");
}

TEST(TableTest, ColumnsAreAlignedAndLinesHaveNoTrailingBlanks) {
  Table table({{"NAME"}, {"COUNT", Column::Align::kRight}, {"STATE"}});
  table.Add({"a", "1,000", "idle"});
  table.Add({"longer", "7", "decoding"});

  EXPECT_EQ(table.Text(),
            "NAME    COUNT  STATE\n"
            "a       1,000  idle\n"
            "longer      7  decoding\n");
}

TEST(TableTest, AnEmptyCellIsADash) {
  Table table({{"A"}, {"B"}});
  table.Add({"", "x"});

  EXPECT_EQ(table.Text(), "A  B\n-  x\n");
}

TEST(TableTest, WidthsCountCharactersAndNotBytes) {
  Table table({{"A"}, {"B"}});
  table.Add({"über", "1"});
  table.Add({"uber", "2"});

  EXPECT_EQ(table.Text(), "A     B\nüber  1\nuber  2\n");
}

TEST(TableTest, WhatWouldMoveTheCursorIsShownAsQuestionMarks) {
  Table table({{"A"}});
  table.Add({"x\x1b[2J\ny"});

  EXPECT_EQ(table.Text(), "A\nx?[2J?y\n");
}

TEST(CountTest, ThousandsAreSetApart) {
  EXPECT_EQ(Count(0), "0");
  EXPECT_EQ(Count(999), "999");
  EXPECT_EQ(Count(1000), "1,000");
  EXPECT_EQ(Count(1234567), "1,234,567");
  EXPECT_EQ(Count(std::numeric_limits<uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(AgeTest, TheTwoLargestUnitsAreSaid) {
  EXPECT_EQ(Age(850), "850 ms");
  EXPECT_EQ(Age(12'999), "12 s");
  EXPECT_EQ(Age(61'000), "1 m 1 s");
  EXPECT_EQ(Age(3 * 3'600'000 + 12 * 60'000), "3 h 12 m");
  EXPECT_EQ(Age(49ull * 3'600'000), "2 d 1 h");
}

}  // namespace
}  // namespace penstock::ctl
