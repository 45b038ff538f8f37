// Converts a PNG's samples to RGBX pixels by Pillow's rules. Alpha is dropped, not blended;
// transparency, gamma and profiles are ignored. Of 16-bit channels the upper eight bits are used,
// except that 16-bit gray without alpha is clipped at 255. Pure.
#pragma once

#include <array>
#include <cstdint>

#include "server/decode/png/png_header.h"

namespace penstock::decode {

class PngRows {
 public:
  // Until SetPalette is called, palette indices are shades of gray.
  explicit PngRows(const PngHeader& header);

  // `entries` has `count` entries of three bytes. Indices beyond them keep their shade of gray, as
  // in Pillow 9.
  void SetPalette(const uint8_t* entries, uint32_t count);

  // Bytes per pixel of a sample row. Depths below eight have one byte per sample.
  size_t pixel_bytes() const { return pixel_bytes_; }

  // Converts `count` pixels from `samples` and writes them `step` pixels apart.
  void Convert(const uint8_t* samples, uint32_t count, uint32_t step, uint8_t* out) const;

 private:
  enum class Way { kTable, kClip, kPick };

  Way way_;
  size_t pixel_bytes_;
  std::array<uint8_t, 3> picked_{};  // kPick: the offsets of red, green and blue in a pixel
  std::array<std::array<uint8_t, 3>, 256> table_{};  // kTable
};

}  // namespace penstock::decode
