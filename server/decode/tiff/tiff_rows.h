// Converts a TIFF's samples to RGBX pixels as Pillow does for each layout. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/decode/core/bytes.h"
#include "server/decode/tiff/tiff_layout.h"

namespace penstock::decode {

// How samples lie in memory.
struct TiffSamples {
  Endian endian = Endian::kLittle;
  bool bits_reversed = false;
};

class TiffRows {
 public:
  TiffRows(const TiffLayout& layout, const TiffSamples& samples)
      : layout_(layout), samples_(samples) {}

  // Writes `count` pixels of a row from the samples of one plane, or from all samples if they are
  // interleaved. `from` holds whole pixels, rounded up to bytes.
  void Put(const std::byte* from, uint32_t plane, uint32_t count, uint8_t* row) const;

  // Completes `count` pixels after Put was called for all planes. Needed only for planar layouts.
  void FinishPlanes(uint32_t count, uint8_t* row) const;

 private:
  void PutIndices(const std::byte* from, uint32_t count, uint8_t* row) const;
  void PutGrays(const std::byte* from, uint32_t count, uint8_t* row) const;
  void PutColors(const std::byte* from, uint32_t count, uint8_t* row) const;
  void PutPlane(const std::byte* from, uint32_t plane, uint32_t count, uint8_t* row) const;
  uint32_t ByteOf(const std::byte* from, size_t at) const;
  uint32_t GrayOf(const std::byte* from, uint32_t x) const;
  // Which byte of a sample is shown: for 16 bits, the upper one.
  size_t shown() const { return layout_.bits == 16 && samples_.endian == Endian::kLittle ? 1 : 0; }

  const TiffLayout& layout_;
  const TiffSamples samples_;
};

}  // namespace penstock::decode
