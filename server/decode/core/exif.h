// The orientation that a file's EXIF block names, as Pillow's getexif() finds it. Pure, and safe
// with hostile bytes: nothing is allocated, and every entry is looked at once.
//
// EXIF 2.3, section 4.6; TIFF 6.0, section 2. Not looked for: orientations in XMP, in ImageMagick's
// text chunks, and those that are written as fractions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "server/decode/core/kind.h"

namespace penstock::decode {

// What has to be done to the stored image to see it upright: exchange columns and rows, having
// mirrored the stored ones left to right, top to bottom, or both.
struct Orientation {
  bool mirror_columns = false;
  bool mirror_rows = false;
  bool exchange = false;

  bool upright() const { return !mirror_columns && !mirror_rows && !exchange; }
  bool operator==(const Orientation&) const = default;
};

// The TIFF data of the file's EXIF block, without "Exif\0\0"; empty where there is none.
std::span<const std::byte> FindExif(Kind kind, std::span<const std::byte> file);

// The value of the tag Orientation in TIFF data: 1 … 8; 1 where it is absent, or something else.
int OrientationTag(std::span<const std::byte> tiff);

Orientation OrientationOf(int tag);

}  // namespace penstock::decode
