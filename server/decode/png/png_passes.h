// The passes in which a PNG file has its rows. Pure. PNG specification, third edition, section 8.
#pragma once

#include <cstdint>

#include "server/decode/png/png_header.h"

namespace penstock::decode {

// A pass contains the pixels at (x0 + i · dx, y0 + j · dy).
struct PngPass {
  uint32_t x0, y0, dx, dy;
};

inline constexpr PngPass kWholePng = {0, 0, 1, 1};
inline constexpr PngPass kAdam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                     {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};

inline const PngPass& PngPassOf(const PngHeader& header, int number) {
  return header.interlaced ? kAdam7[number] : kWholePng;
}

// How many of x0, x0 + dx, … are below `end`.
inline uint32_t CountBelow(uint32_t end, uint32_t x0, uint32_t dx) {
  return end <= x0 ? 0 : (end - x0 - 1) / dx + 1;
}

// The rows of all passes.
inline uint64_t PngRowCount(const PngHeader& header) {
  if (!header.interlaced) return header.height;
  uint64_t rows = 0;
  for (const PngPass& pass : kAdam7) {
    if (CountBelow(header.width, pass.x0, pass.dx) > 0) {
      rows += CountBelow(header.height, pass.y0, pass.dy);
    }
  }
  return rows;
}

}  // namespace penstock::decode
