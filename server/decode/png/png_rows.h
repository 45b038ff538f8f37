// A PNG's samples → RGBX pixels, by Pillow's rules: alpha is dropped, never laid over anything;
// transparency, gamma and profiles are ignored; of 16 bits a channel the upper eight are taken,
// except that gray of 16 bits without alpha is clipped at 255. Pure.
#pragma once

#include <array>
#include <cstdint>

#include "server/decode/png/png_header.h"

namespace penstock::decode {

class PngRows {
 public:
  // Gray, or a palette of shades of gray until SetPalette.
  explicit PngRows(const PngHeader& header);

  // Of `count` entries, three bytes each; indices beyond them keep their shade, as in Pillow 9.
  void SetPalette(const uint8_t* entries, uint32_t count);

  // Bytes of a sample row that one pixel has. Depths below eight come with a byte a sample.
  size_t pixel_bytes() const { return pixel_bytes_; }

  // `count` pixels from `samples`, to every `step`th pixel at `out`.
  void Convert(const uint8_t* samples, uint32_t count, uint32_t step, uint8_t* out) const;

 private:
  enum class Way { kTable, kClip, kPick };

  Way way_;
  size_t pixel_bytes_;
  std::array<uint8_t, 3> picked_{};  // kPick: where in a pixel red, green and blue are
  std::array<std::array<uint8_t, 3>, 256> table_{};  // kTable
};

}  // namespace penstock::decode
