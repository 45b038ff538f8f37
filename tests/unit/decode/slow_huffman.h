// Huffman codes for tests, and a decoder that reads them bit by bit, as the standard (ITU-T T.81)
// describes.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "server/decode/jpeg/huffman.h"

namespace penstock::testing {

// A code with `counts[i]` words of length i + 1. All symbols differ. The first are those that
// matter: the end of a block and sixteen zeros.
inline JHUFF_TBL MakeTable(const std::vector<int>& counts, uint32_t seed) {
  JHUFF_TBL table{};
  for (size_t i = 0; i < counts.size(); ++i) table.bits[i + 1] = static_cast<UINT8>(counts[i]);
  std::vector<int> symbols(254);
  std::iota(symbols.begin(), symbols.end(), 1);
  std::erase(symbols, 0xF0);
  std::shuffle(symbols.begin(), symbols.end(), std::mt19937(seed));
  symbols.insert(symbols.begin() + 1, {0x00, 0xF0});
  std::copy(symbols.begin(), symbols.end(), table.huffval);
  return table;
}

inline const std::vector<JHUFF_TBL>& HuffmanTables() {
  static const std::vector<JHUFF_TBL> tables = {
      MakeTable({0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125}, 1),  // like the standard's
      MakeTable({1, 0, 1, 1, 1, 2, 0, 3, 1, 4, 6, 7, 9, 11, 20, 30}, 2),
      MakeTable({0, 0, 0, 0, 0, 0, 0, 200}, 3),
      MakeTable({0, 3}, 4),  // some bit sequences begin with no word
      MakeTable({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 4, 5, 6}, 5),  // longer than an index
      MakeTable({}, 6),
  };
  return tables;
}

// T.81, annex C: the words of one length are consecutive numbers; the next length continues with a
// 0 appended.
inline decode::HuffmanCode::Word FindSlowly(const JHUFF_TBL& table, uint64_t window) {
  uint64_t word = 0;
  int next = 0;
  for (int length = 1; length <= 16; ++length, word <<= 1) {
    for (int i = 0; i < table.bits[length]; ++i, ++word, ++next) {
      if (window >> (64 - length) == word)
        return {static_cast<uint8_t>(length), table.huffval[next]};
    }
  }
  return {0, 0};
}

// T.81, figure F.12.
inline int Extend(uint64_t bits, int size) {
  if (size == 0) return 0;
  const int value = static_cast<int>(bits >> (64 - size));
  return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
}

}  // namespace penstock::testing
