// PNG files for tests, made by libpng itself of samples that the test knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/decode/png/png_header.h"

namespace penstock::testing {

// Samples row by row, channel by channel, below 2^depth; the same for the same header and seed.
std::vector<uint16_t> MakePngSamples(const decode::PngHeader& header, uint32_t seed = 1);

// A palette has the colour (i, 255 - i, i ^ 0x55) for index i.
std::vector<std::byte> MakePng(const decode::PngHeader& header,
                               const std::vector<uint16_t>& samples);

// The file with another chunk before its image's data, with a right sum.
std::vector<std::byte> WithPngChunk(const std::vector<std::byte>& file, const char* name,
                                    const std::vector<std::byte>& data);

}  // namespace penstock::testing
