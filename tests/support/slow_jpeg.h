// A small file whose decoding takes long: a progressive JPEG of as many scans as there can be, each
// of which visits every block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::testing {

// Square, of one colour. Decoding visits blocks about 2,000 times (side / 8)²: four seconds for
// 2,000 pixels on a slow core.
std::vector<std::byte> MakeSlowJpeg(uint32_t side);

}  // namespace penstock::testing
