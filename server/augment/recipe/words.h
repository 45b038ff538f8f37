// The random words of one step, and the distributions that are made of them, as
// ../../plan/README.md specifies them. Private to this folder.
#pragma once

#include <cstdint>
#include <utility>

#include "common/base/beta.h"
#include "common/base/exact.h"

namespace penstock::augment {

class Words {
 public:
  // `place` is the step's place in the recipe.
  Words(const base::DrawSource& source, uint32_t place) : source_(source) {
    source_.operation += (place + 1) << 8;
  }

  uint32_t Word(uint32_t number) {
    const uint32_t draw = number / 4;
    if (draw != draw_) words_ = source_.Words(draw_ = draw);
    return words_[number % 4];
  }

  // A number in [0, 1).
  double Unit(uint32_t number) { return Word(number) / 4294967296.0; }
  // An integer in [0, choices).
  uint32_t Below(uint32_t number, uint32_t choices) {
    return static_cast<uint32_t>((uint64_t{Word(number)} * choices) >> 32);
  }
  // Rounded to float, as torch draws.
  double Between(uint32_t number, double least, double most) {
    return base::RoundToFloat(least + (most - least) * Unit(number));
  }
  bool Coin(uint32_t number) { return Word(number) >> 31 != 0; }

  // A random order of `count` elements, from words `number` … `number + count − 2`.
  template <typename T>
  void Shuffle(uint32_t number, T* elements, uint32_t count) {
    for (uint32_t left = count; left > 1; --left) {
      std::swap(elements[left - 1], elements[Below(number++, left)]);
    }
  }

  // Draws that have no room among the first 256.
  base::DrawSource Page(uint32_t page) const {
    base::DrawSource source = source_;
    source.operation += page << 16;
    return source;
  }

 private:
  base::DrawSource source_;
  uint32_t draw_ = UINT32_MAX;
  base::PhiloxWords words_ = {};
};

}  // namespace penstock::augment
