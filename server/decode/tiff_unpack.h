// How a TIFF's strips and tiles are compressed: as they are, by runs (PackBits), by words (LZW), or
// deflated. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/fault.h"

namespace penstock::decode {

enum class TiffCompression : uint32_t {
  kNone = 1,
  kLzw = 5,
  kAdobeDeflate = 8,
  kPackBits = 32773,
  kDeflate = 32946,
};

// Whether there is such a one.
bool Unpacks(uint32_t compression);

// Fills `into` from `packed`, which may have more, but not deflated. kTruncated: it has less.
base::Fault Unpack(TiffCompression compression, std::span<const std::byte> packed,
                   std::span<std::byte> into);

}  // namespace penstock::decode
