// Random images and what to make of them, for tests of the kernel that makes rows and of its
// tables; and the row that the CPU's decoder makes of the same pixels.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "client/gpu_decode/row_maker.h"

namespace penstock::testing {

struct RowCase {
  std::vector<uint8_t> pixels;  // RGB, row.height × row.width × 3
  gpu_decode::JpegRow row;      // its file is empty
};

// Limits of random cases. Every ninth case has a side of one pixel, in the box or in the row.
struct RowCaseLimits {
  uint32_t max_side = 400;  // of the image
  uint32_t max_out = 256;   // of the resized image
  uint64_t max_pixels = 1'000'000;
};

RowCase MakeRowCase(std::mt19937& random, const RowCaseLimits& limits);

// Noise with edges, the same for the same seed.
std::vector<uint8_t> MakePixels(uint32_t width, uint32_t height, uint32_t seed);

// The CPU's row.
std::vector<uint8_t> ExpectedRow(const RowCase& row_case);

}  // namespace penstock::testing
