#include "server/decode/raster/gif_reader.h"

#include <algorithm>
#include <vector>

#include "server/decode/core/bytes.h"
#include "server/decode/raster/gif_codes.h"

namespace penstock::decode {
namespace {

using base::Fault;

constexpr size_t kScreenBytes = 13, kFrameBytes = 9;
constexpr uint32_t kHasPalette = 128, kInterlaced = 64;
constexpr uint32_t kGraphicControl = 249;
constexpr uint32_t kLongestFirstCode = 8;

size_t PaletteBytes(uint32_t flags) {
  return (flags & kHasPalette) != 0 ? size_t{3} << ((flags & 7) + 1) : 0;
}

// The offset after the blocks that begin at `at`; past the end of the file if they are incomplete.
size_t SkipBlocks(std::span<const std::byte> file, size_t at) {
  while (at < file.size()) {
    const uint32_t length = ByteAt(file, at);
    at += 1 + length;
    if (length == 0) break;
  }
  return at;
}

// The position of the `i`th row in an interlaced frame of this height.
uint32_t InterlacedRow(uint32_t i, uint32_t height) {
  for (const auto& [first, step] : {std::pair(0u, 8u), {4u, 8u}, {2u, 4u}, {1u, 2u}}) {
    const uint32_t rows = height > first ? (height - first + step - 1) / step : 0;
    if (i < rows) return first + i * step;
    i -= rows;
  }
  return 0;
}

}  // namespace

Fault GifReader::ParseHeader(std::span<const std::byte> file) {
  if (file.size() < kScreenBytes) return Fault::kTruncated;
  palette_.Clear();
  uncovered_ = 0;
  SetSize(Little16(file, 6), Little16(file, 8));
  const uint32_t flags = ByteAt(file, 10);
  if (!ReadPalette(file, kScreenBytes, flags)) return Fault::kTruncated;
  return FindFrame(file, kScreenBytes + PaletteBytes(flags));
}

bool GifReader::ReadPalette(std::span<const std::byte> file, size_t at, uint32_t flags) {
  const size_t bytes = PaletteBytes(flags);
  if (at > file.size() || file.size() - at < bytes) return false;
  if (bytes != 0) palette_.Clear();
  for (size_t i = 0; i < bytes / 3; ++i)
    palette_.Set(i, ByteAt(file, at + 3 * i), ByteAt(file, at + 3 * i + 1),
                 ByteAt(file, at + 3 * i + 2));
  return true;
}

Fault GifReader::FindFrame(std::span<const std::byte> file, size_t at) {
  while (at < file.size()) {
    const char what = static_cast<char>(file[at++]);
    if (what == ';') return Fault::kCorrupt;  // no frame at all
    if (what == ',') return ReadFrame(file, at);
    if (what != '!') continue;
    if (file.size() - at < 7) return Fault::kTruncated;
    if (ByteAt(file, at) == kGraphicControl) {
      if (ByteAt(file, at + 1) < 4) return Fault::kCorrupt;
      if ((ByteAt(file, at + 2) & 1) != 0) uncovered_ = static_cast<uint8_t>(ByteAt(file, at + 5));
    }
    at = SkipBlocks(file, at + 1);
  }
  return Fault::kTruncated;
}

Fault GifReader::ReadFrame(std::span<const std::byte> file, size_t at) {
  if (file.size() - at < kFrameBytes) return Fault::kTruncated;
  frame_ = {Little16(file, at), Little16(file, at + 2), Little16(file, at + 4),
            Little16(file, at + 6)};
  const uint32_t flags = ByteAt(file, at + 8);
  interlaced_ = (flags & kInterlaced) != 0;
  at += kFrameBytes;
  if (!ReadPalette(file, at, flags)) return Fault::kTruncated;
  at += PaletteBytes(flags);
  if (at >= file.size()) return Fault::kTruncated;
  code_bits_ = ByteAt(file, at);
  data_at_ = at + 1;
  if (code_bits_ < 1 || code_bits_ > kLongestFirstCode) return Fault::kUnsupported;
  if (frame_.width == 0 || frame_.height == 0) return Fault::kCorrupt;
  // A frame that exceeds the screen enlarges it.
  SetSize(std::max(width(), frame_.x + frame_.width), std::max(height(), frame_.y + frame_.height));
  return Fault::kNone;
}

Fault GifReader::Decode(std::span<const std::byte> file, Pixels& pixels) {
  const bool covered = frame_.width == width() && frame_.height == height();
  for (uint32_t y = 0; y < height() && !covered; ++y)
    for (uint32_t x = 0; x < width(); ++x) palette_.Put(uncovered_, pixels.row(y) + size_t{4} * x);
  std::vector<uint8_t> indices(frame_.width);
  GifCodes codes(file, data_at_, code_bits_);
  for (uint32_t i = 0; i < frame_.height; ++i) {
    if (const Fault fault = codes.Read(indices); fault != Fault::kNone) return fault;
    PutRow(interlaced_ ? InterlacedRow(i, frame_.height) : i, indices.data(), pixels);
  }
  return Fault::kNone;
}

void GifReader::PutRow(uint32_t row, const uint8_t* indices, Pixels& pixels) const {
  uint8_t* pixel = pixels.row(frame_.y + row) + size_t{4} * frame_.x;
  for (uint32_t x = 0; x < frame_.width; ++x, pixel += 4) palette_.Put(indices[x], pixel);
}

}  // namespace penstock::decode
