// Windows and OS/2 bitmaps with 1, 4, 8, 16, 24 and 32 bits, with the bit fields that Pillow
// accepts, and 8-bit run-length encoding. Alpha is dropped.
#pragma once

#include <cstdint>
#include <span>

#include "server/decode/raster/palette.h"
#include "server/decode/raster/whole_reader.h"

namespace penstock::decode {

class BmpReader : public WholeReader {
 public:
  // How pixels with 16 or more bits are stored.
  enum class Packing { kPalette, kBgr15, kBgr16, kBgr, kBgrx, kXbgr, kRgbx };

 protected:
  base::Fault ParseHeader(std::span<const std::byte> file) override;
  base::Fault Decode(std::span<const std::byte> file, Pixels& pixels) override;

 private:
  base::Fault ParseInfo(std::span<const std::byte> file);
  base::Fault ChoosePacking(std::span<const std::byte> file);
  base::Fault ChooseBitFields(std::span<const std::byte> file);
  base::Fault ReadPalette(std::span<const std::byte> file);
  base::Fault DecodeRuns(std::span<const std::byte> data, Pixels& pixels) const;
  void DecodeRow(const std::byte* from, uint8_t* row) const;
  uint32_t FromTop(uint32_t stored) const { return top_down_ ? stored : height() - 1 - stored; }

  uint32_t header_bytes_ = 0, bits_ = 0, compression_ = 0, colors_ = 0;
  bool top_down_ = false;
  size_t at_ = 0;  // offset after the header, then of the pixels
  Packing packing_ = Packing::kPalette;
  Palette palette_;
};

}  // namespace penstock::decode
