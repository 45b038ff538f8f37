// Makes a small file that takes long to decode: a progressive JPEG with the maximum number of
// scans, each of which visits every block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::testing {

// A square image of one colour. Decoding visits about 2,000 · (side / 8)² blocks: four seconds for
// 2,000 pixels on a slow core.
std::vector<std::byte> MakeSlowJpeg(uint32_t side);

}  // namespace penstock::testing
