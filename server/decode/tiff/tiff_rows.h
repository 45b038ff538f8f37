// A TIFF's samples → RGBX pixels, as Pillow converts each layout to RGB. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/decode/core/bytes.h"
#include "server/decode/tiff/tiff_layout.h"

namespace penstock::decode {

// Samples as they lie in memory.
struct TiffSamples {
  Endian endian = Endian::kLittle;
  bool bits_reversed = false;
};

class TiffRows {
 public:
  TiffRows(const TiffLayout& layout, const TiffSamples& samples)
      : layout_(layout), samples_(samples) {}

  // Of a row's `count` pixels the samples of one plane; all samples where they are together. The
  // bytes from `from` are those of whole pixels, rounded up.
  void Put(const std::byte* from, uint32_t plane, uint32_t count, uint8_t* row) const;

  // After all planes were put, where there are several: `count` pixels.
  void FinishPlanes(uint32_t count, uint8_t* row) const;

 private:
  void PutIndices(const std::byte* from, uint32_t count, uint8_t* row) const;
  void PutGrays(const std::byte* from, uint32_t count, uint8_t* row) const;
  void PutColors(const std::byte* from, uint32_t count, uint8_t* row) const;
  void PutPlane(const std::byte* from, uint32_t plane, uint32_t count, uint8_t* row) const;
  uint32_t ByteOf(const std::byte* from, size_t at) const;
  uint32_t GrayOf(const std::byte* from, uint32_t x) const;
  // The byte of a sample that is shown: of 16 bits the upper one.
  size_t shown() const { return layout_.bits == 16 && samples_.endian == Endian::kLittle ? 1 : 0; }

  const TiffLayout& layout_;
  const TiffSamples samples_;
};

}  // namespace penstock::decode
