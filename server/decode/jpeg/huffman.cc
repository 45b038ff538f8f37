#include "server/decode/jpeg/huffman.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/base/check.h"

namespace penstock::decode {
namespace {

using Word = HuffmanCode::Word;

// For each index, the word that it begins with; {0, 0} if that word is longer than the index.
template <size_t kSize>
void FillWithWords(const HuffmanCode& code, Word (&words)[kSize]) {
  constexpr int kBits = std::countr_zero(kSize);
  std::ranges::fill(words, Word{0, 0});
  code.ForEachWord(kBits, [&words](Word word, uint32_t bits) {
    PENSTOCK_CHECK(bits >> word.length == 0);
    const int rest = kBits - word.length;
    std::fill_n(words + (size_t{bits} << rest), size_t{1} << rest, word);
  });
}

constexpr uint32_t kAcEntries = 1 << AcTable::kBits;

// The bits of an index after its first `length`, followed by zeros.
uint32_t Rest(uint32_t index, int length) { return index << length & (kAcEntries - 1); }

int SizeOf(Word word) { return word.symbol & 0xF; }

AcStep SingleStep(Word word, uint32_t index) {
  const int length = word.length + SizeOf(word);
  if (word.length == 0 || length > AcTable::kBits) {
    return {.length = 0,
            .first_length = word.length,
            .advance = kEndOfBlock,
            .second_advance = 0,
            .value = word.symbol,
            .second_value = 0};
  }
  const uint64_t behind = uint64_t{index} << (64 - AcTable::kBits) << word.length;
  const auto value = static_cast<int16_t>(ValueOf(behind, SizeOf(word)));
  return {.length = static_cast<uint8_t>(length),
          .first_length = static_cast<uint8_t>(length),
          .advance = AdvanceOf(word.symbol),
          .second_advance = 0,
          .value = value,
          .second_value = value};
}

// Appends `second` to `first` if the index contains all of it.
AcStep Joined(AcStep first, const AcStep& second) {
  if (first.advance == kEndOfBlock || second.length == 0) return first;
  if (first.length + second.length > AcTable::kBits) return first;
  first.length = static_cast<uint8_t>(first.length + second.length);
  first.second_advance = second.advance;
  first.second_value = second.value;
  return first;
}

// The words that fit in fewer bits than an index are found first: those of an index are its first
// word and those of the bits behind that. `skips` has space for every index.
void MakeSkips(const Word* words, AcSkip* skips) {
  // The skips of `count` bits begin at 1 << count.
  AcSkip by_count[2 * kAcEntries] = {};
  for (int count = 1; count <= AcTable::kBits; ++count) {
    for (uint32_t bits = 0; bits < 1u << count; ++bits) {
      const Word word = words[bits << (AcTable::kBits - count)];
      if (word.length == 0 || word.length > count) continue;
      AcSkip& skip = by_count[(1u << count) + bits];
      skip = {static_cast<uint8_t>(word.length + SizeOf(word)), AdvanceOf(word.symbol)};
      if (skip.length >= count || skip.advance == kEndOfBlock) continue;
      const int left = count - skip.length;
      const AcSkip behind = by_count[(1u << left) + (bits & ((1u << left) - 1))];
      skip.length = static_cast<uint8_t>(skip.length + behind.length);
      skip.advance = static_cast<uint8_t>(std::min(skip.advance + behind.advance, 255));
    }
  }
  std::copy_n(by_count + kAcEntries, kAcEntries, skips);
  for (uint32_t index = 0; index < kAcEntries; ++index)
    if (skips[index].length == 0) skips[index].advance = kEndOfBlock;
}

}  // namespace

bool HuffmanCode::Assign(const JHUFF_TBL& table) {
  if (assigned_ && std::memcmp(counts_ + 1, table.bits + 1, kMaxLength) == 0 &&
      std::memcmp(symbols_, table.huffval, sizeof(symbols_)) == 0) {
    return false;
  }
  assigned_ = true;
  std::memcpy(counts_ + 1, table.bits + 1, kMaxLength);
  std::memcpy(symbols_, table.huffval, sizeof(symbols_));
  for (int length = 1; length <= kMaxLength; ++length) {
    firsts_[length] = (firsts_[length - 1] + counts_[length - 1]) << 1;
    before_[length] = static_cast<uint16_t>(before_[length - 1] + counts_[length - 1]);
  }
  return true;
}

Word HuffmanCode::Find(uint64_t window, int shortest) const {
  for (int length = shortest; length <= kMaxLength; ++length) {
    const uint32_t nth = static_cast<uint32_t>(window >> (64 - length)) - firsts_[length];
    if (nth < counts_[length]) {
      return {static_cast<uint8_t>(length), symbols_[before_[length] + nth]};
    }
  }
  return {0, 0};
}

void DcTable::Assign(const JHUFF_TBL& table) {
  if (code_.Assign(table)) FillWithWords(code_, words_);
}

void AcTable::Assign(const JHUFF_TBL& table) {
  if (!code_.Assign(table)) return;
  Word words[kAcEntries];
  FillWithWords(code_, words);
  AcStep singles[kAcEntries];
  for (uint32_t index = 0; index < kAcEntries; ++index) {
    singles[index] = SingleStep(words[index], index);
  }
  for (uint32_t index = 0; index < kAcEntries; ++index) {
    steps_[index] = Joined(singles[index], singles[Rest(index, singles[index].length)]);
  }
  MakeSkips(words, skips_);
}

}  // namespace penstock::decode
