// Reads a TIFF's first image, in the layouts that Pillow knows (tiff_layout.h). As in Pillow,
// libtiff reads compressed data (tiff_codec.h), and uncompressed data is read in place. Other TIFFs
// are kUnsupported.
//
// Memory: a strip or tile in addition to the pixels.
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
  // The orientation from the TIFF tag; Pillow always shows such images upright.
  Orientation orientation() const { return ReadOrientation(static_cast<int>(layout_.orientation)); }

 protected:
  base::Fault ParseHeader(std::span<const std::byte> file) override;
  base::Fault Decode(std::span<const std::byte> file, Pixels& pixels) override;

 private:
  // Strips are treated as tiles as wide as the image.
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
