// A PNG file's chunks, as far as they are needed without libpng. Pure.
// PNG specification, third edition, sections 5 and 11.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "common/base/fault.h"

namespace penstock::decode {

// Of a side, by the format.
inline constexpr uint32_t kMostPngSide = 0x7FFF'FFFF;

struct PngHeader {
  enum Color : uint8_t { kGray = 0, kRgb = 2, kPalette = 3, kGrayAlpha = 4, kRgba = 6 };

  uint32_t width = 0, height = 0;
  uint8_t depth = 0;  // bits a channel
  Color color = kGray;
  bool interlaced = false;

  uint32_t channels() const;
};

// kTruncated where the file ends before the header does; kCorrupt where it is none, or describes no
// image that PNG has.
base::Fault ParsePngHeader(std::span<const std::byte> file, PngHeader& header);

struct PngChunk {
  uint32_t name = 0;  // its four letters, big-endian
  std::span<const std::byte> data;
};

// Calls `visit` for every chunk that is whole, in order, up to the end chunk; checks no sums.
void ForEachPngChunk(std::span<const std::byte> file,
                     const std::function<void(const PngChunk&)>& visit);

// Whether the file ends within a chunk that begins behind the image's data. The pixels are there,
// but Pillow calls such a file truncated; a missing end chunk it forgives.
bool PngIsCutBehindData(std::span<const std::byte> file);

}  // namespace penstock::decode
