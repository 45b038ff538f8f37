// Encodes PNG files for tests with libpng, from samples that the test knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/decode/png/png_header.h"

namespace penstock::testing {

// Samples by row, pixel and channel, below 2^depth; deterministic for a header and seed.
std::vector<uint16_t> MakePngSamples(const decode::PngHeader& header, uint32_t seed = 1);

// The palette's colour for index i is (i, 255 - i, i ^ 0x55).
std::vector<std::byte> MakePng(const decode::PngHeader& header,
                               const std::vector<uint16_t>& samples);

// Inserts a chunk with a correct CRC before the image data.
std::vector<std::byte> WithPngChunk(const std::vector<std::byte>& file, const char* name,
                                    const std::vector<std::byte>& data);

}  // namespace penstock::testing
