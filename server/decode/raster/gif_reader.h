// Reads a GIF's first frame and places it on the logical screen. The area that the frame doesn't
// cover gets the frame's transparent index, else 0; transparent pixels keep their colour. This is
// Pillow's behaviour.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "server/decode/raster/palette.h"
#include "server/decode/raster/whole_reader.h"

namespace penstock::decode {

class GifReader : public WholeReader {
 protected:
  base::Fault ParseHeader(std::span<const std::byte> file) override;
  base::Fault Decode(std::span<const std::byte> file, Pixels& pixels) override;

 private:
  base::Fault FindFrame(std::span<const std::byte> file, size_t at);
  base::Fault ReadFrame(std::span<const std::byte> file, size_t at);
  bool ReadPalette(std::span<const std::byte> file, size_t at, uint32_t flags);
  void PutRow(uint32_t row, const uint8_t* indices, Pixels& pixels) const;

  Palette palette_;
  Box frame_;
  bool interlaced_ = false;
  uint8_t uncovered_ = 0;  // the index
  uint32_t code_bits_ = 0;
  size_t data_at_ = 0;
};

}  // namespace penstock::decode
