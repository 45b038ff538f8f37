// Decodes one block's coefficients from a scan's bits (T.81, F.2.2). All functions are inlined into
// the including file, and only entropy_decoder.cc includes this.
//
// Coefficients are indexed in zigzag order but stored by rows. **Requires**: the block is all zeros
// at first.
#pragma once

#include <array>
#include <cstdint>

#include "server/decode/jpeg/huffman.h"
#include "server/decode/jpeg/scan_bits.h"

namespace penstock::decode {

inline constexpr uint32_t kLastPlace = DCTSIZE2 - 1;

// Maps zigzag order (T.81, figure A.6) to row order. Steps that end a block lead past the last
// index; what they store there is zero, or the block is given up.
inline constexpr std::array<uint8_t, 256> kRowOrder = [] {
  std::array<uint8_t, 256> order{};
  order.fill(kLastPlace);
  int row = 0;
  int column = 0;
  for (uint32_t place = 0; place < DCTSIZE2; ++place) {
    order[place] = static_cast<uint8_t>(row * DCTSIZE + column);
    const bool up = (row + column) % 2 == 0;
    const bool at_left = column == 0, at_right = column == DCTSIZE - 1;
    const bool at_top = row == 0, at_bottom = row == DCTSIZE - 1;
    if (up ? at_right : at_left && !at_bottom) {
      ++row;
    } else if (up ? at_top : at_bottom) {
      ++column;
    } else {
      row += up ? -1 : 1;
      column += up ? 1 : -1;
    }
  }
  return order;
}();

PENSTOCK_INLINE bool DecodeDc(const DcTable& table, Bits& bits, int32_t& last) {
  bits.Refill();
  const HuffmanCode::Word word = table.Next(bits.window());
  bits.Take(word.length);
  last += ValueOf(bits.window(), word.symbol);
  bits.Take(word.symbol);
  return word.length != 0 && last == static_cast<int16_t>(last);
}

// Decodes a word that, alone or with its value, is longer than the table's index: up to 31 bits.
// False if no such word exists.
template <bool kKeep>
PENSTOCK_INLINE bool DecodeLongAc(const AcTable& table, const AcStep& step, Bits& bits,
                                  uint32_t& place, JCOEF* block) {
  bits.Refill();
  const HuffmanCode::Word word = table.LongWord(step, bits.window());
  const int size = word.symbol & 0xF;
  bits.Take(word.length);
  place += AdvanceOf(word.symbol);
  if (kKeep) block[kRowOrder[place]] = static_cast<JCOEF>(ValueOf(bits.window(), size));
  bits.Take(size);
  return word.length != 0;
}

enum class BlockState {
  kGoesOn,
  kComplete,
  kIrregular,  // libjpeg would warn
};

// Interprets a step from `place` that reached the last index or passed it, or a word too long for
// the table.
template <bool kKeep>
PENSTOCK_INLINE BlockState Judge(const AcTable& table, const AcStep& step, Bits& bits,
                                 uint32_t& place, JCOEF* block) {
  if (step.length == 0) {
    if (!DecodeLongAc<kKeep>(table, step, bits, place, block)) return BlockState::kIrregular;
    if (place < kLastPlace) return BlockState::kGoesOn;
    return place == kLastPlace || place >= kEndOfBlock ? BlockState::kComplete
                                                       : BlockState::kIrregular;
  }
  const uint32_t first = place + step.advance;
  const uint32_t second = first + step.second_advance;
  if (first == kLastPlace && second != first) {  // the second coefficient belongs to the next block
    bits.GiveBack(step.length - step.first_length);
    if (kKeep) block[kLastPlace] = step.value;
    return BlockState::kComplete;
  }
  const bool ends = step.second_advance == 0
                        ? step.advance == kEndOfBlock
                        : step.second_advance == kEndOfBlock && first < kLastPlace;
  return ends || second == kLastPlace ? BlockState::kComplete : BlockState::kIrregular;
}

// Takes one step speculatively. The only branch tests whether the step led beyond the block; it is
// unpredictable.
template <bool kKeep>
PENSTOCK_INLINE BlockState TakeStep(const AcTable& table, Bits& bits, uint32_t& place,
                                    JCOEF* block) {
  const AcStep& step = table.Next(bits.window());
  bits.Take(step.length);
  const uint32_t first = place + step.advance;
  const uint32_t second = first + step.second_advance;
  if (kKeep) {
    block[kRowOrder[first]] = step.value;
    // If the last word is at the last index, this stores 0 at the end.
    block[kRowOrder[second]] = step.second_value;
  }
  if (second >= kLastPlace) [[unlikely]]
    return Judge<kKeep>(table, step, bits, place, block);
  place = second;
  return BlockState::kGoesOn;
}

// Decodes AC coefficients. `place` is the zigzag index of the last coefficient so far. One refill
// provides enough bits for two steps, or for a long word and a step.
PENSTOCK_INLINE BlockState KeepAc(const AcTable& table, Bits& bits, JCOEF* block) {
  uint32_t place = 0;
  for (;;) {
    bits.Refill();
    BlockState state = TakeStep<true>(table, bits, place, block);
    if (state == BlockState::kGoesOn) state = TakeStep<true>(table, bits, place, block);
    if (state != BlockState::kGoesOn) return state;
  }
}

// If a skip passes the end of the block without an end-of-block word, undo it and take single steps
// instead. Two skips need at most 2 × 25 bits.
PENSTOCK_INLINE BlockState SkipAc(const AcTable& table, Bits& bits) {
  uint32_t place = 0;
  for (;;) {
    bits.Refill();
    for (int i = 0; i < 2; ++i) {
      const AcSkip skip = table.NextSkip(bits.window());
      bits.Take(skip.length);
      const uint32_t next = place + skip.advance;
      if (next < kLastPlace) [[likely]] {
        place = next;
        continue;
      }
      if (skip.length != 0 && next - kEndOfBlock < kLastPlace) return BlockState::kComplete;
      bits.GiveBack(skip.length);
      const BlockState state = TakeStep<false>(table, bits, place, nullptr);
      if (state != BlockState::kGoesOn) return state;
      break;
    }
  }
}

}  // namespace penstock::decode
