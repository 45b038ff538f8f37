// The lookup tables compared with reading their code bit by bit.
#include "server/decode/jpeg/huffman.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/unit/decode/slow_huffman.h"

namespace penstock::decode {
namespace {

using testing::Extend;
using testing::FindSlowly;
using testing::HuffmanTables;
using Word = HuffmanCode::Word;

bool operator==(Word a, Word b) { return a.length == b.length && a.symbol == b.symbol; }

std::vector<uint64_t> Windows(int index_bits) {
  std::mt19937_64 random(7);
  std::vector<uint64_t> windows;
  for (uint64_t index = 0; index < uint64_t{1} << index_bits; ++index) {
    windows.push_back(index << (64 - index_bits) | random() >> index_bits);
  }
  return windows;
}

TEST(HuffmanTest, AWordIsFoundWhateverItsLength) {
  for (const JHUFF_TBL& table : HuffmanTables()) {
    HuffmanCode code;
    ASSERT_TRUE(code.Assign(table));
    for (const uint64_t window : Windows(16)) {
      const Word word = FindSlowly(table, window);
      ASSERT_TRUE(code.Find(window, 1) == word) << std::hex << window;
      ASSERT_TRUE(code.Find(window, std::max<int>(word.length, 1)) == word);
    }
  }
}

TEST(HuffmanTest, ACodeIsOnlyAssignedIfItIsAnother) {
  HuffmanCode code;
  for (const JHUFF_TBL& table : HuffmanTables()) {
    EXPECT_TRUE(code.Assign(table));
    EXPECT_FALSE(code.Assign(table));
  }
}

TEST(HuffmanTest, ValuesAreExtendedAsTheStandardSays) {
  std::mt19937_64 random(8);
  for (int size = 0; size <= 15; ++size) {
    for (int round = 0; round < 1000; ++round) {
      const uint64_t window = random();
      ASSERT_EQ(ValueOf(window, size), Extend(window, size)) << size;
    }
  }
}

TEST(HuffmanTest, DcWordsAreTheCodes) {
  DcTable dc;
  for (const JHUFF_TBL& table : HuffmanTables()) {
    dc.Assign(table);
    for (const uint64_t window : Windows(16)) {
      ASSERT_TRUE(dc.Next(window) == FindSlowly(table, window)) << std::hex << window;
    }
  }
}

class AcTableTest : public ::testing::Test {
 protected:
  static constexpr int kBits = AcTable::kBits;

  // One coefficient at the beginning of the window; length 0 if there is none.
  struct Single {
    int word_length;
    int length;
    uint8_t symbol;
    int advance;
    int value;
  };
  static Single Next(const JHUFF_TBL& table, uint64_t window) {
    const Word word = FindSlowly(table, window);
    if (word.length == 0) return {};
    const int size = word.symbol & 0xF;
    return {word.length, word.length + size, word.symbol, AdvanceOf(word.symbol),
            Extend(window << word.length, size)};
  }

  AcTable ac_;
};

TEST_F(AcTableTest, AStepIsOneCoefficientOrTwo) {
  int pairs = 0;
  for (const JHUFF_TBL& table : HuffmanTables()) {
    ac_.Assign(table);
    for (const uint64_t window : Windows(kBits)) {
      const AcStep& step = ac_.Next(window);
      const Single first = Next(table, window);
      if (first.length == 0 || first.length > kBits) {
        EXPECT_EQ(step.length, 0);
        EXPECT_TRUE(ac_.LongWord(step, window) == FindSlowly(table, window));
        continue;
      }
      ASSERT_EQ(step.first_length, first.length);
      EXPECT_EQ(step.advance, first.advance);
      EXPECT_EQ(step.value, first.value);
      const Single second = Next(table, window << first.length);
      const bool both = first.symbol != 0 && first.advance != kEndOfBlock && second.length != 0 &&
                        first.length + second.length <= kBits;
      ASSERT_EQ(step.length, both ? first.length + second.length : first.length);
      EXPECT_EQ(step.second_advance, both ? second.advance : 0);
      EXPECT_EQ(step.second_value, both ? second.value : first.value);
      pairs += both;
    }
  }
  EXPECT_GT(pairs, 300);
}

TEST_F(AcTableTest, ASkipIsEveryCoefficientWhoseWordIsThere) {
  int many = 0;
  for (const JHUFF_TBL& table : HuffmanTables()) {
    ac_.Assign(table);
    for (const uint64_t window : Windows(kBits)) {
      int length = 0;
      int advance = 0;
      int count = 0;
      while (length < kBits && advance < kEndOfBlock) {
        const Single single = Next(table, window << length);
        if (single.length == 0 || length + single.word_length > kBits) break;
        length += single.length;
        advance += single.advance;
        ++count;
      }
      const AcSkip skip = ac_.NextSkip(window);
      ASSERT_EQ(skip.length, length);
      EXPECT_EQ(skip.advance, length == 0 ? kEndOfBlock : std::min(advance, 255));
      many += count > 2;
    }
  }
  EXPECT_GT(many, 100);
}

}  // namespace
}  // namespace penstock::decode
