// JPEG's Huffman codes (ITU-T T.81, annexes C and F.2.2) as tables: the next bits of a scan index
// what they stand for. A table remembers its code and is not made again for the same one:
// cameras use the standard's, while nearly every file of ImageNet has its own.
#pragma once

#include <cstdint>

#include "server/decode/jpeg/libjpeg.h"

namespace penstock::decode {

// A code, and the slow way to read it, for words of any length.
class HuffmanCode {
 public:
  struct Word {
    uint8_t length;  // in bits, 1 … 16; 0: no word begins like this
    uint8_t symbol;
  };

  // False if it is this code already. libjpeg has checked that `table` is a code, perhaps one
  // without words: its jpeg_start_decompress refuses others.
  bool Assign(const JHUFF_TBL& table);

  // The word that the window's first bits are. The caller knows that it is not shorter than
  // `shortest`.
  Word Find(uint64_t window, int shortest) const;

  // visit(word, bits): every word of at most `max_length` bits.
  template <typename Visit>
  void ForEachWord(int max_length, Visit visit) const {
    uint32_t bits = 0;
    int next = 0;
    for (int length = 1; length <= max_length; ++length, bits <<= 1) {
      for (int i = 0; i < counts_[length]; ++i, ++bits, ++next) {
        visit(Word{static_cast<uint8_t>(length), symbols_[next]}, bits);
      }
    }
  }

 private:
  static constexpr int kMaxLength = 16;

  bool assigned_ = false;
  uint8_t counts_[kMaxLength + 1] = {};   // of words, by length
  uint32_t firsts_[kMaxLength + 1] = {};  // word of a length
  uint16_t before_[kMaxLength + 1] = {};  // how many words are shorter
  uint8_t symbols_[256] = {};             // by word, the shortest first
};

// Behind a word of a difference or a coefficient stand `size` (0 … 15) bits with its value (T.81,
// F.2.2.1, EXTEND): those that begin with 0 are negative.
inline int32_t ValueOf(uint64_t window, int size) {
  const auto magnitude = static_cast<int64_t>(window >> 1 >> (63 - size));
  const int64_t negative = ~(static_cast<int64_t>(window) >> 63);  // all ones, or none
  return static_cast<int32_t>(magnitude + (negative & (1 - (int64_t{1} << size))));
}

// For DC differences; their words' symbols are sizes.
class DcTable {
 public:
  static constexpr int kBits = 9;

  void Assign(const JHUFF_TBL& table);

  HuffmanCode::Word Next(uint64_t window) const {
    const HuffmanCode::Word word = words_[window >> (64 - kBits)];
    return word.length != 0 ? word : code_.Find(window, kBits + 1);
  }

 private:
  HuffmanCode code_;
  HuffmanCode::Word words_[1 << kBits] = {};
};

// What leads beyond any block.
inline constexpr uint8_t kEndOfBlock = 128;

// How far a word for AC coefficients moves on in the zigzag order, from the last one that has a
// coefficient to the next.
inline uint8_t AdvanceOf(uint8_t symbol) {
  constexpr uint8_t kSixteenZeros = 0xF0;
  const bool has_value = (symbol & 0xF) != 0;
  return has_value || symbol == kSixteenZeros ? static_cast<uint8_t>((symbol >> 4) + 1)
                                              : kEndOfBlock;
}

// One or two coefficients, values included, that a scan's next bits are. Where not even one is
// (length 0), first_length and value are its word's length and symbol, or 0, and the rest is as for
// the end of a block.
struct AcStep {
  uint8_t length;        // in bits, of all
  uint8_t first_length;  // of the first alone
  uint8_t advance;
  uint8_t second_advance;  // from the first; 0: there is no second, and second_value is value
  int16_t value;
  int16_t second_value;
};
static_assert(sizeof(AcStep) == 8);

// All coefficients whose words are within a scan's next bits, for blocks that are passed over.
struct AcSkip {
  uint8_t length;   // in bits, with the last one's value; 0: not even one word
  uint8_t advance;  // over all of them
};

// For AC coefficients; their words' symbols are a run of zeros and a size.
class AcTable {
 public:
  static constexpr int kBits = 10;

  void Assign(const JHUFF_TBL& table);

  const AcStep& Next(uint64_t window) const { return steps_[window >> (64 - kBits)]; }
  AcSkip NextSkip(uint64_t window) const { return skips_[window >> (64 - kBits)]; }

  // Where a step's length is 0: the word alone.
  HuffmanCode::Word LongWord(const AcStep& step, uint64_t window) const {
    if (step.first_length == 0) return code_.Find(window, kBits + 1);
    return {step.first_length, static_cast<uint8_t>(step.value)};
  }

 private:
  HuffmanCode code_;
  AcStep steps_[1 << kBits] = {};
  AcSkip skips_[1 << kBits] = {};
};

}  // namespace penstock::decode
