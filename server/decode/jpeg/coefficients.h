// One block's coefficients out of a scan's bits (T.81, F.2.2). Every file that includes this has
// its own copy, in one piece; only entropy_decoder.cc does.
//
// Coefficients are numbered by their place in the zigzag order; a block holds them by rows, and is
// all zeros before.
#pragma once

#include <array>
#include <cstdint>

#include "server/decode/jpeg/huffman.h"
#include "server/decode/jpeg/scan_bits.h"

namespace penstock::decode {

inline constexpr uint32_t kLastPlace = DCTSIZE2 - 1;

// From the zigzag order (T.81, figure A.6) to rows. Places behind the last one are where steps lead
// that end a block; they store a zero, or the block is given up.
inline constexpr std::array<uint8_t, 256> kRowOrder = [] {
  std::array<uint8_t, 256> order{};
  order.fill(kLastPlace);
  int row = 0;
  int column = 0;
  for (uint32_t place = 0; place < DCTSIZE2; ++place) {
    order[place] = static_cast<uint8_t>(row * DCTSIZE + column);
    const bool up = (row + column) % 2 == 0;
    if (up && column == DCTSIZE - 1) {
      ++row;
    } else if (up && row == 0) {
      ++column;
    } else if (!up && row == DCTSIZE - 1) {
      ++column;
    } else if (!up && column == 0) {
      ++row;
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

// A word that is longer than the table's index, or its value is: up to 31 bits, whatever was taken
// before. False if there is none.
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

// What a step means that led from `place` to the last place or beyond, or is longer than a step.
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
  if (first == kLastPlace && second != first) {  // the second is the next block's
    bits.GiveBack(step.length - step.first_length);
    if (kKeep) block[kLastPlace] = step.value;
    return BlockState::kComplete;
  }
  const bool ends = step.second_advance == 0
                        ? step.advance == kEndOfBlock
                        : step.second_advance == kEndOfBlock && first < kLastPlace;
  return ends || second == kLastPlace ? BlockState::kComplete : BlockState::kIrregular;
}

// One step in the dark: whether it led beyond the block is the only branch, and nobody can predict
// it.
template <bool kKeep>
PENSTOCK_INLINE BlockState TakeStep(const AcTable& table, Bits& bits, uint32_t& place,
                                    JCOEF* block) {
  const AcStep& step = table.Next(bits.window());
  bits.Take(step.length);
  const uint32_t first = place + step.advance;
  const uint32_t second = first + step.second_advance;
  if (kKeep) {
    block[kRowOrder[first]] = step.value;
    block[kRowOrder[second]] = step.second_value;  // the last word on the last place: 0 at the end
  }
  if (second >= kLastPlace) [[unlikely]]
    return Judge<kKeep>(table, step, bits, place, block);
  place = second;
  return BlockState::kGoesOn;
}

// `place` is the last one that has a coefficient, in zigzag order.
// After a refill two steps, or a long word and a step, find the bits that they need.
PENSTOCK_INLINE BlockState KeepAc(const AcTable& table, Bits& bits, JCOEF* block) {
  uint32_t place = 0;
  for (;;) {
    bits.Refill();
    BlockState state = TakeStep<true>(table, bits, place, block);
    if (state == BlockState::kGoesOn) state = TakeStep<true>(table, bits, place, block);
    if (state != BlockState::kGoesOn) return state;
  }
}

// A skip that leads beyond the block without ending it there is taken back and made in steps. Two
// skips take 2 × 25 bits at most.
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
