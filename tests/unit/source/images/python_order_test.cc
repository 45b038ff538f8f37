#include "server/source/files/python_order.h"

#include <gtest/gtest.h>

namespace penstock::source {
namespace {

TEST(PythonOrderTest, ANameIsNotBeforeItself) {
  EXPECT_FALSE(PythonLess("", ""));
  EXPECT_FALSE(PythonLess("a", "a"));
  EXPECT_FALSE(PythonLess("é", "é"));
  EXPECT_FALSE(PythonLess("\xff", "\xff"));
}

TEST(PythonOrderTest, APrefixComesFirst) {
  EXPECT_TRUE(PythonLess("", "a"));
  EXPECT_TRUE(PythonLess("a", "ab"));
  EXPECT_TRUE(PythonLess("é", "éa"));
  EXPECT_FALSE(PythonLess("ab", "a"));
}

TEST(PythonOrderTest, AsciiSortsByByteAndCapitalsFirst) {
  EXPECT_TRUE(PythonLess("Z", "a"));
  EXPECT_TRUE(PythonLess("a-b", "a/b"));
  EXPECT_TRUE(PythonLess("a b", "a/b"));
  EXPECT_TRUE(PythonLess("10", "9"));
}

TEST(PythonOrderTest, ValidUtf8SortsByItsBytes) {
  EXPECT_TRUE(PythonLess("z", "é"));
  EXPECT_TRUE(PythonLess("\uFF5E", "\U00010000"));
}

// os.fsdecode turns a lone 0xC3 into U+DCC3. That sorts after é (U+00E9), whose bytes also begin
// with 0xC3.
TEST(PythonOrderTest, ABrokenByteSortsAsItsEscape) {
  EXPECT_TRUE(PythonLess("\xc3\xa9",
                         "\xc3"
                         "A"));
  EXPECT_FALSE(
      PythonLess("\xc3"
                 "A",
                 "\xc3\xa9"));
  EXPECT_TRUE(PythonLess("\xff", "\uE000"));      // U+DCFF < U+E000, though 0xFF > 0xEE
  EXPECT_TRUE(PythonLess("\xff", "\U0001F600"));  // … < U+1F600, though 0xFF > 0xF0
  EXPECT_TRUE(PythonLess("\u4E2D", "\x80"));      // U+4E2D < U+DC80, though 0xE4 > 0x80
}

TEST(PythonOrderTest, OnlyWholeShortestUtf8IsValid) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("plain"));
  EXPECT_TRUE(IsUtf8("é中\U0001F600"));
  EXPECT_FALSE(IsUtf8("\x80"));
  EXPECT_FALSE(IsUtf8("\xc3"));
  EXPECT_FALSE(IsUtf8("\xc0\xaf"));          // overlong /
  EXPECT_FALSE(IsUtf8("\xe0\x80\xaf"));      // overlong /
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80"));      // a surrogate
  EXPECT_FALSE(IsUtf8("\xf4\x90\x80\x80"));  // above U+10FFFF
  EXPECT_FALSE(IsUtf8("\xf8\x88\x80\x80\x80"));
}

}  // namespace
}  // namespace penstock::source
