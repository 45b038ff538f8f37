// Interprets a TIFF's tags as Pillow does: which layouts are supported, and what each of their
// samples means. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/fault.h"
#include "server/decode/raster/palette.h"
#include "server/decode/tiff/tiff_directory.h"

namespace penstock::decode {

enum class TiffColor {
  kIndexed,    // 1 to 8 bits through the palette, including grays; alpha may follow
  kGrayAlpha,  // 8 bits of gray, 8 of alpha
  kDeepGray,   // 12 or 16 bits, or 32 bits signed: clipped to 0 … 255
  kSignedGray,
  kFloatGray,
  kRgb,
  kPremultipliedRgb,  // the fourth sample is alpha, and the others are multiplied by it
  kInks,
  kYcc,  // libtiff converts it to RGBX
};

struct TiffLayout {
  uint32_t width = 0, height = 0;  // as stored
  uint32_t orientation = 1;        // 1 … 8
  uint32_t bits = 1, samples = 1;  // per sample; per pixel
  uint32_t photometric = 0, compression = 1;
  bool planar = false;         // each sample has its own strips or tiles; more than one sample
  bool bits_reversed = false;  // the first bit of a byte is the lowest
  TiffColor color = TiffColor::kIndexed;
  Palette palette;

  bool compressed() const { return compression != 1; }
};

// kUnsupported if Pillow has no such layout, or Penstock doesn't read it (../README.md).
base::Fault ReadTiffLayout(const TiffDirectory& directory, TiffLayout& layout);

}  // namespace penstock::decode
