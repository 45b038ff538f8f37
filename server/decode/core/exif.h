// Reads the orientation from a file's EXIF block, like Pillow's getexif(). Pure. Safe with
// malicious bytes: allocates nothing and visits every entry once.
//
// Specifications: EXIF 2.3, section 4.6; TIFF 6.0, section 2. Orientations in XMP, in ImageMagick's
// text chunks and in fractional form are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "server/decode/core/kind.h"

namespace penstock::decode {

// How to turn the stored image upright: mirror it left to right, top to bottom, or both, then swap
// columns and rows.
struct Orientation {
  bool mirror_columns = false;
  bool mirror_rows = false;
  bool exchange = false;

  bool upright() const { return !mirror_columns && !mirror_rows && !exchange; }
  bool operator==(const Orientation&) const = default;
};

// The TIFF data of the file's EXIF block, without "Exif\0\0"; empty if there is no block.
std::span<const std::byte> FindExif(Kind kind, std::span<const std::byte> file);

// The value of the Orientation tag in TIFF data: 1 … 8, or 1 if it is absent or invalid.
int OrientationTag(std::span<const std::byte> tiff);

Orientation ReadOrientation(int tag);

}  // namespace penstock::decode
