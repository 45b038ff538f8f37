// A TIFF's first image: the layouts that Pillow knows (tiff_layout.h). What is compressed is read
// by libtiff (tiff_codec.h), the rest where it lies, as Pillow does both. What else there is under
// that name is kUnsupported.
//
// Memory: a strip or tile, beside the pixels.
#pragma once

#include <cstdint>
#include <span>

#include "server/decode/core/exif.h"
#include "server/decode/raster/whole_reader.h"
#include "server/decode/tiff/tiff_directory.h"
#include "server/decode/tiff/tiff_layout.h"
#include "server/decode/tiff/tiff_rows.h"

namespace penstock::decode {

class TiffReader : public WholeReader {
 public:
  // Of the stored pixels, by the tag; Pillow always shows them upright.
  Orientation orientation() const { return OrientationOf(static_cast<int>(layout_.orientation)); }

 protected:
  base::Fault ParseHeader(std::span<const std::byte> file) override;
  base::Fault Decode(std::span<const std::byte> file, Pixels& pixels) override;

 private:
  // Strips are tiles as wide as the image.
  struct Tiles {
    uint32_t width = 0, height = 0;
    TiffNumbers offsets;
  };

  base::Fault ParseTiles();
  base::Fault DecodePlain(std::span<const std::byte> file, Pixels& pixels) const;
  base::Fault DecodePlane(std::span<const std::byte> file, uint32_t plane, const TiffRows& rows,
                          Pixels& pixels) const;

  TiffDirectory directory_;
  TiffLayout layout_;
  Tiles tiles_;
};

}  // namespace penstock::decode
