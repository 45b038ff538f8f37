// Encodes JPEG files for tests with libjpeg, and decodes them whole with libjpeg for comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::testing {

struct JpegOptions {
  int components = 3;  // 1 gray, 3 YCbCr, 4 CMYK
  int horizontal = 1;  // luma samples per chroma sample
  int vertical = 1;
  int quality = 90;
  bool progressive = false;
  int restart_rows = 0;  // block rows between restart markers; 0: none
  bool ycck = false;     // with four components: YCCK
  bool adobe_marker = true;
  bool optimized = false;  // its own Huffman codes instead of the standard's
  int noise = 24;          // maximum value added to each sample
};

// A picture with gradients, edges and noise; deterministic.
std::vector<std::byte> MakeJpeg(uint32_t width, uint32_t height, const JpegOptions& options = {},
                                uint32_t seed = 1);

struct Image {
  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<uint8_t> pixels;  // RGB
};

// **Requires**: a valid file. On an error, libjpeg ends the program.
Image DecodeWhole(std::span<const std::byte> file);

// How many warnings libjpeg has about a file that it reads to its end. The same requirement.
long WarningsOf(std::span<const std::byte> file);

}  // namespace penstock::testing
