// Tables of comma- and tab-separated values.
#include "server/source/lists/delimited.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Rows = std::vector<std::vector<std::string>>;

// All rows; a last row "line N: …" stands for an error.
Rows Split(const std::string& text, char separator = ',') {
  Delimited table(text, separator);
  Rows rows;
  std::vector<ListCell> cells;
  for (;;) {
    const absl::StatusOr<bool> more = table.Next(cells);
    if (!more.ok()) {
      rows.push_back({absl::StrCat("line ", table.line(), ": ", more.status().message())});
      return rows;
    }
    if (!*more) return rows;
    rows.emplace_back();
    for (const ListCell& cell : cells) rows.back().push_back(cell.text);
  }
}

std::string ErrorOf(const std::string& text) {
  const Rows rows = Split(text);
  return rows.empty() || rows.back().empty() ? "" : rows.back().front();
}

TEST(DelimitedTest, CellsAreSplitAndEmptyOnesKept) {
  EXPECT_THAT(Split("a,b\n,\nc, d \n"),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("", ""), ElementsAre("c", " d ")));
}

TEST(DelimitedTest, QuotedCellsHoldSeparatorsLineEndsAndDoubledQuotes) {
  EXPECT_THAT(Split("\"a,b\",\"c\r\nd\",\"say \"\"hi\"\"\"\r\n\"\",e"),
              ElementsAre(ElementsAre("a,b", "c\r\nd", "say \"hi\""), ElementsAre("", "e")));
}

TEST(DelimitedTest, ByteOrderMarksAndEmptyLinesAreNoRows) {
  EXPECT_THAT(Split("\xEF\xBB\xBFx\n\n\r\ny\n\n"), ElementsAre(ElementsAre("x"), ElementsAre("y")));
  EXPECT_THAT(Split(""), IsEmpty());
  EXPECT_THAT(Split("\n"), IsEmpty());
}

TEST(DelimitedTest, TabsSeparateWhereAsked) {
  EXPECT_THAT(Split("a,b\tc", '\t'), ElementsAre(ElementsAre("a,b", "c")));
}

TEST(DelimitedTest, LinesAreCountedThroughQuotedCells) {
  Delimited table("\"a\n\n\"\n\nb", ',');
  std::vector<ListCell> cells;
  ASSERT_TRUE(*table.Next(cells));
  EXPECT_EQ(table.line(), 1u);
  ASSERT_TRUE(*table.Next(cells));
  EXPECT_EQ(table.line(), 5u);
}

TEST(DelimitedTest, WrongQuotesAreRefusedWithTheirLine) {
  EXPECT_THAT(ErrorOf("a\nb\"c\n"), HasSubstr("line 2: there is a quote within a cell"));
  EXPECT_THAT(ErrorOf("a\n\"b\"c\n"), HasSubstr("line 2: there is more text after"));
  EXPECT_THAT(ErrorOf("a\n\"b\nc\n"), HasSubstr("line 2: a cell's closing quote is missing"));
  EXPECT_THAT(ErrorOf("a\rb\n"), HasSubstr("line 1: there is a CR without an LF"));
}

}  // namespace
}  // namespace penstock::source
