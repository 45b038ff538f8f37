// A TIFF's first image: strips or tiles, as they are or compressed without loss, of bilevel, gray,
// palette, RGB and four-ink pixels, with or without alpha, which is dropped. What else there is
// under that name is kUnsupported.
//
// Memory: a strip or tile, beside the pixels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/decode/palette.h"
#include "server/decode/tiff_directory.h"
#include "server/decode/tiff_unpack.h"
#include "server/decode/whole_reader.h"

namespace penstock::decode {

class TiffReader : public WholeReader {
 protected:
  base::Fault ParseHeader(std::span<const std::byte> file) override;
  base::Fault Decode(std::span<const std::byte> file, Pixels& pixels) override;

 private:
  enum class Color { kIndexed, kGrayWithAlpha, kRgb, kInks };
  // Strips are tiles as wide as the image.
  struct Tiles {
    uint32_t width = 0, height = 0;
    bool whole = false;  // the last ones are as high as all others
    TiffNumbers offsets, bytes;
  };

  base::Fault ParseSize();
  base::Fault ParseSamples();
  base::Fault ParseColor();
  base::Fault ParseTiles();
  bool ExtraSamplesAre(uint32_t colors) const;
  base::Fault SetGrays(bool white_is_zero);
  base::Fault SetColors();
  base::Fault DecodeTile(std::span<const std::byte> file, uint32_t number, uint32_t x, uint32_t y,
                         Pixels& pixels);
  std::span<const std::byte> PackedOf(std::span<const std::byte> file, uint32_t number,
                                      uint64_t bytes) const;
  void UndoPrediction(std::span<std::byte> rows, size_t row_bytes) const;
  void PutRow(const std::byte* from, uint32_t count, uint8_t* row) const;

  uint64_t RowBytes(uint32_t pixels) const { return (uint64_t{pixels} * samples_ * bits_ + 7) / 8; }

  TiffDirectory directory_;
  TiffCompression compression_ = TiffCompression::kNone;
  uint32_t bits_ = 1, samples_ = 1;  // of a sample; of a pixel
  bool predicted_ = false;           // each byte is the difference to its neighbour
  Color color_ = Color::kIndexed;
  Palette palette_;
  Tiles tiles_;
  std::vector<std::byte> unpacked_;
};

}  // namespace penstock::decode
