// Reads PBM, PGM and PPM, plain and binary, with any maximum value. Not PAM. Of binary PPM of 8
// bits, in which decoded images are kept, only the window is read.
#pragma once

#include <cstdint>
#include <span>

#include "server/decode/raster/whole_reader.h"

namespace penstock::decode {

class NetpbmReader : public WholeReader {
 public:
  base::Fault Begin(const Box& window) override;
  base::Fault ReadRows(std::span<uint8_t* const> rows) override;

 protected:
  base::Fault ParseHeader(std::span<const std::byte> file) override;
  base::Fault Decode(std::span<const std::byte> file, Pixels& pixels) override;

 private:
  base::Fault DecodeBits(std::span<const std::byte> data, Pixels& pixels) const;
  base::Fault DecodeValues(std::span<const std::byte> data, Pixels& pixels) const;
  base::Fault DecodePlain(std::span<const std::byte> data, Pixels& pixels) const;
  bool IsPlainRgb() const { return letter_ == '6' && most_ == 255; }
  base::Fault CheckSize(std::span<const std::byte> data, size_t pixel_bytes) const;
  uint32_t channels() const { return letter_ == '3' || letter_ == '6' ? 3 : 1; }
  uint8_t Scaled(uint32_t value) const;

  char letter_ = 0;  // '1' … '6'
  uint32_t most_ = 1;
  size_t data_at_ = 0;
};

}  // namespace penstock::decode
