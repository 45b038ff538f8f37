// Blocks read from random bits, compared with the standard's procedure.
#include "server/decode/jpeg/coefficients.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "tests/unit/decode/slow_huffman.h"

namespace penstock::decode {
namespace {

using testing::Extend;
using testing::FindSlowly;
using testing::HuffmanTables;

using Bytes = std::vector<uint8_t>;
using Coefficients = std::array<JCOEF, DCTSIZE2>;

struct Block {
  uint64_t position;  // after the block, in bits
  Coefficients coefficients;
  bool operator==(const Block&) const = default;
};

uint64_t Window(const Bytes& bytes, uint64_t position) {
  uint64_t window = 0;
  for (uint64_t bit = position; bit < position + 64; ++bit) {
    window = window << 1 | (bytes[bit / 8] >> (7 - bit % 8) & 1);
  }
  return window;
}

// T.81, figure F.13. Returns nullopt if a code word doesn't exist or extends past the block.
std::optional<Block> ReadSlowly(const JHUFF_TBL& table, const Bytes& bytes, uint64_t position) {
  Block block{position, {}};
  for (int place = 0; place < DCTSIZE2 - 1;) {
    const uint64_t window = Window(bytes, block.position);
    const HuffmanCode::Word word = FindSlowly(table, window);
    if (word.length == 0) return std::nullopt;
    block.position += word.length + (word.symbol & 0xF);
    if (word.symbol % 16 == 0 && word.symbol != 0xF0) return block;
    place += (word.symbol >> 4) + 1;
    if (place > DCTSIZE2 - 1) return std::nullopt;
    block.coefficients[kRowOrder[place]] =
        static_cast<JCOEF>(Extend(window << word.length, word.symbol & 0xF));
  }
  return block;
}

std::optional<Block> Read(const AcTable& table, const Bytes& bytes, uint64_t position, bool keep) {
  Block block{position, {}};
  Bits bits(bytes.data(), position);
  const BlockState state =
      keep ? KeepAc(table, bits, block.coefficients.data()) : SkipAc(table, bits);
  if (state != BlockState::kComplete) return std::nullopt;
  block.position = bits.PositionIn(bytes.data());
  return block;
}

TEST(CoefficientsTest, BlocksOfRandomBitsAreReadAsTheStandardSays) {
  std::mt19937 random(21);
  AcTable ac;
  int complete = 0;
  for (const JHUFF_TBL& table : HuffmanTables()) {
    ac.Assign(table);
    for (int round = 0; round < 3000; ++round) {
      Bytes bytes(300);
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
      const uint64_t position = random() % 16;

      const std::optional<Block> expected = ReadSlowly(table, bytes, position);

      ASSERT_TRUE(Read(ac, bytes, position, true) == expected);
      const std::optional<Block> skipped = Read(ac, bytes, position, false);
      ASSERT_EQ(skipped.has_value(), expected.has_value());
      if (!expected) continue;
      ASSERT_EQ(skipped->position, expected->position);
      ++complete;
    }
  }
  EXPECT_GT(complete, 3000);
}

// A code word of sixteen bits and a value of fifteen, one after the other.
TEST(CoefficientsTest, TheLongestWordsAreReadToTheEnd) {
  JHUFF_TBL table{};
  table.bits[1] = 1;
  table.bits[16] = 2;
  table.huffval[1] = 0x0F;
  table.huffval[2] = 0x1F;
  AcTable ac;
  ac.Assign(table);
  std::mt19937 random(22);
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes;
    uint32_t bit = 0;
    const auto put = [&](uint32_t value, int count) {
      for (int i = count - 1; i >= 0; --i, ++bit) {
        if (bit % 8 == 0) bytes.push_back(0);
        bytes.back() |= static_cast<uint8_t>((value >> i & 1) << (7 - bit % 8));
      }
    };
    for (uint32_t words = random() % 70; words > 0; --words) {
      put(0x8000 + random() % 2, 16);
      put(random() % 0x8000, 15);
    }
    bytes.resize(bytes.size() + 16);

    ASSERT_TRUE(Read(ac, bytes, 0, true) == ReadSlowly(table, bytes, 0));
  }
}

}  // namespace
}  // namespace penstock::decode
