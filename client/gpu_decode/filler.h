// A file of 16 × 16 gray pixels that fills up calls of nvJPEG, so that its state need not be
// prepared again for another number of images.
//
// Source of the format: ITU-T T.81, annex B.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::gpu_decode {

inline constexpr uint32_t kFillerSide = 16;

inline constexpr auto kFillerFile = [] {
  constexpr uint8_t kFrame[] = {0xFF, 0xC0, 0, 17,   8, 0, kFillerSide, 0, kFillerSide, 3, 1,
                                0x11, 0,    2, 0x11, 1, 3, 0x11,        1};
  // Four blocks of three components without coefficients: a bit for each word, the rest are ones.
  constexpr uint8_t kScan[] = {0xFF, 0xDA, 0,  12, 3, 1, 0, 2,    0x11, 3,
                               0x11, 0,    63, 0,  0, 0, 0, 0xFF, 0xD9};
  constexpr size_t kCoefficients = 64, kLengths = 16;
  std::array<uint8_t,
             2 + 2 * (5 + kCoefficients) + sizeof kFrame + 4 * (5 + kLengths + 1) + sizeof kScan>
      file = {};
  uint8_t* at = file.data();
  const auto add = [&at](auto... bytes) { ((*at++ = static_cast<uint8_t>(bytes)), ...); };
  add(0xFF, 0xD8);
  for (const int table : {0, 1}) {  // of quantisation
    add(0xFF, 0xDB, 0, 3 + kCoefficients, table);
    at = std::fill_n(at, kCoefficients, uint8_t{1});
  }
  at = std::ranges::copy(kFrame, at).out;
  for (const int table : {0x00, 0x10, 0x01, 0x11}) {  // Huffman codes: of one word, a single bit
    add(0xFF, 0xC4, 0, 3 + kLengths + 1, table, 1);
    at = std::fill_n(at, kLengths, uint8_t{0});
  }
  std::ranges::copy(kScan, at);
  return file;
}();

}  // namespace penstock::gpu_decode
