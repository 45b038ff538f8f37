// Wraps libtiff: decodes the strips or tiles of a compressed TIFF's first image one after another.
// Reads the file from memory, prints nothing, and keeps no state between calls.
//
// Memory: two decompressed strips or tiles, plus what the codec needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "common/base/fault.h"
#include "server/decode/tiff/tiff_layout.h"

namespace penstock::decode {

// The pixels of one strip or tile that lie within the image. Samples have the machine's byte order.
struct TiffBlock {
  uint32_t x = 0, y = 0, width = 0, height = 0;
  uint32_t plane = 0;  // 0 if all samples are interleaved
  const std::byte* rows = nullptr;
  size_t stride = 0;
};

using TakeTiffBlock = std::function<void(const TiffBlock&)>;

// **Requires**: `layout` was read from the file's tags.
// **Errors**: kUnsupported if libtiff reads the tags differently; kTooManyPixels if a strip or tile
// is much larger than the image, or does not fit in memory.
base::Fault DecodeTiff(std::span<const std::byte> file, const TiffLayout& layout,
                       const TakeTiffBlock& take);

}  // namespace penstock::decode
