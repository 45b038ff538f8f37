// libtiff, kept in one place: the strips or tiles of a compressed TIFF's first image, one after the
// other. It reads the file in memory, prints nothing, and keeps no state between calls.
//
// Memory: two strips or tiles, unpacked, besides what the codec takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "common/base/fault.h"
#include "server/decode/tiff/tiff_layout.h"

namespace penstock::decode {

// Pixels of one strip or tile that lie within the image. Samples have the machine's byte order.
struct TiffBlock {
  uint32_t x = 0, y = 0, width = 0, height = 0;
  uint32_t plane = 0;  // 0 where all samples are together
  const std::byte* rows = nullptr;
  size_t stride = 0;
};

using TakeTiffBlock = std::function<void(const TiffBlock&)>;

// `layout` is that of the file's tags. kUnsupported: libtiff reads them in another way;
// kTooManyPixels: a strip or tile is much larger than the image, or does not fit into memory.
base::Fault DecodeTiff(std::span<const std::byte> file, const TiffLayout& layout,
                       const TakeTiffBlock& take);

}  // namespace penstock::decode
