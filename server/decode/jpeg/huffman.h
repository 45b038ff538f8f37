// Tables for JPEG's Huffman codes (ITU-T T.81, annexes C and F.2.2), indexed by the next bits of a
// scan. A table remembers its code and is not rebuilt for an identical one: cameras use the
// standard's tables, although nearly every file of ImageNet has its own.
#pragma once

#include <cstdint>

#include "server/decode/jpeg/libjpeg.h"

namespace penstock::decode {

// A code, with slow decoding for words of any length.
class HuffmanCode {
 public:
  struct Word {
    uint8_t length;  // in bits, 1 … 16; 0: no word begins like this
    uint8_t symbol;
  };

  // Returns false if the code is unchanged. **Requires**: `table` is a valid code, perhaps without
  // words; jpeg_start_decompress refuses others.
  bool Assign(const JHUFF_TBL& table);

  // Decodes the first word in the window. **Requires**: it has at least `shortest` bits.
  Word Find(uint64_t window, int shortest) const;

  // Calls visit(word, bits) for every word of at most `max_length` bits.
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
  uint8_t counts_[kMaxLength + 1] = {};   // number of words of each length
  uint32_t firsts_[kMaxLength + 1] = {};  // first word of each length
  uint16_t before_[kMaxLength + 1] = {};  // number of shorter words
  uint8_t symbols_[256] = {};             // by word, shortest first
};

// The value in the `size` (0 … 15) bits that follow the word of a difference or coefficient (T.81,
// F.2.2.1, EXTEND). Values that begin with a 0 bit are negative.
inline int32_t ValueOf(uint64_t window, int size) {
  const auto magnitude = static_cast<int64_t>(window >> 1 >> (63 - size));
  const int64_t negative = ~(static_cast<int64_t>(window) >> 63);  // all ones or all zeros
  return static_cast<int32_t>(magnitude + (negative & (1 - (int64_t{1} << size))));
}

// Decodes DC differences. The symbol of a word is its value's size.
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

// Leads past the end of any block.
inline constexpr uint8_t kEndOfBlock = 128;

// How far a word for AC coefficients advances in zigzag order: from the last coefficient to the
// next.
inline uint8_t AdvanceOf(uint8_t symbol) {
  constexpr uint8_t kSixteenZeros = 0xF0;
  const bool has_value = (symbol & 0xF) != 0;
  return has_value || symbol == kSixteenZeros ? static_cast<uint8_t>((symbol >> 4) + 1)
                                              : kEndOfBlock;
}

// One or two coefficients, including their values, decoded from a scan's next bits. If not even one
// fits (length 0), first_length and value are the length and symbol of its word (or 0), and the
// other fields are as for the end of a block.
struct AcStep {
  uint8_t length;        // total length in bits
  uint8_t first_length;  // length of the first coefficient
  uint8_t advance;
  uint8_t second_advance;  // relative to the first; 0: no second, and second_value equals value
  int16_t value;
  int16_t second_value;
};
static_assert(sizeof(AcStep) == 8);

// All coefficients whose words fit in a scan's next bits, for blocks that are skipped.
struct AcSkip {
  uint8_t length;   // in bits, including the last one's value; 0: not even one word fits
  uint8_t advance;  // sum over all of them, at most 255
};

// Decodes AC coefficients. The symbol of a word is a run of zeros and a size.
class AcTable {
 public:
  static constexpr int kBits = 10;

  void Assign(const JHUFF_TBL& table);

  const AcStep& Next(uint64_t window) const { return steps_[window >> (64 - kBits)]; }
  AcSkip NextSkip(uint64_t window) const { return skips_[window >> (64 - kBits)]; }

  // The word for a step of length 0.
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
