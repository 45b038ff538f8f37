// What a TIFF's tags say of its pixels, in Pillow's reading: which layouts there are, and what each
// of their samples means. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/fault.h"
#include "server/decode/raster/palette.h"
#include "server/decode/tiff/tiff_directory.h"

namespace penstock::decode {

enum class TiffColor {
  kIndexed,    // 1 to 8 bits through the palette, grays among them; alpha may follow
  kGrayAlpha,  // 8 bits of gray, 8 of alpha
  kDeepGray,   // 12 or 16 bits, or 32 signed ones: clipped to 0 … 255
  kSignedGray,
  kFloatGray,
  kRgb,
  kPremultipliedRgb,  // by alpha, the fourth sample
  kInks,
  kYcc,  // libtiff makes RGBX of it
};

struct TiffLayout {
  uint32_t width = 0, height = 0;  // as stored
  uint32_t orientation = 1;        // 1 … 8
  uint32_t bits = 1, samples = 1;  // of a sample; of a pixel
  uint32_t photometric = 0, compression = 1;
  bool planar = false;         // each sample in strips or tiles of its own; more than one
  bool bits_reversed = false;  // the first bit of a byte is the lowest
  TiffColor color = TiffColor::kIndexed;
  Palette palette;

  bool compressed() const { return compression != 1; }
};

// kUnsupported: Pillow has no such layout, or Penstock does not read it (README.md).
base::Fault ReadTiffLayout(const TiffDirectory& directory, TiffLayout& layout);

}  // namespace penstock::decode
