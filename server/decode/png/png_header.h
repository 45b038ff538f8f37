// Parses a PNG file's chunks as far as needed without libpng. Pure. PNG specification, third
// edition, sections 5 and 11.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "common/base/fault.h"

namespace penstock::decode {

// The format's maximum for a side.
inline constexpr uint32_t kMostPngSide = 0x7FFF'FFFF;

struct PngHeader {
  enum ColorType : uint8_t { kGray = 0, kRgb = 2, kPalette = 3, kGrayAlpha = 4, kRgba = 6 };

  uint32_t width = 0, height = 0;
  uint8_t depth = 0;  // bits per channel
  ColorType color = kGray;
  bool interlaced = false;

  uint32_t channels() const;
};

// Returns kTruncated if the file ends within the header, kCorrupt if the header is invalid.
base::Fault ParsePngHeader(std::span<const std::byte> file, PngHeader& header);

struct PngChunk {
  uint32_t name = 0;  // four letters, big-endian
  std::span<const std::byte> data;
};

// Calls `visit` for every complete chunk in order, up to the end chunk. Doesn't check CRCs.
void ForEachPngChunk(std::span<const std::byte> file,
                     const std::function<void(const PngChunk&)>& visit);

// Whether the file ends within a chunk that begins after the image data. All pixels are present,
// but Pillow calls such a file truncated. (It accepts a missing end chunk.)
bool PngIsCutBehindData(std::span<const std::byte> file);

}  // namespace penstock::decode
