#include "server/decode/tiff/tiff_reader.h"

#include <algorithm>
#include <bit>

#include "server/decode/tiff/tiff_codec.h"

namespace penstock::decode {
namespace {

using base::Fault;

constexpr uint64_t kLargestTile = 1 << 20;  // pixels, for images that have fewer
constexpr Endian kMachines =
    std::endian::native == std::endian::big ? Endian::kBig : Endian::kLittle;

uint64_t PiecesOf(uint64_t whole, uint64_t piece) { return (whole + piece - 1) / piece; }

}  // namespace

Fault TiffReader::ParseHeader(std::span<const std::byte> file) {
  if (const Fault fault = directory_.Read(file); fault != Fault::kNone) return fault;
  if (const Fault fault = ReadTiffLayout(directory_, layout_); fault != Fault::kNone) return fault;
  SetSize(layout_.width, layout_.height);
  return ParseTiles();
}

Fault TiffReader::ParseTiles() {
  const bool strips = directory_.Find(TiffTag::kStripOffsets).count != 0;
  tiles_.offsets = directory_.Find(strips ? TiffTag::kStripOffsets : TiffTag::kTileOffsets);
  const auto tile_width = directory_.One(TiffTag::kTileWidth, 0);
  const auto tile_height = strips ? directory_.One(TiffTag::kRowsPerStrip, height())
                                  : directory_.One(TiffTag::kTileHeight, 0);
  if (!tile_height || *tile_height == 0) return Fault::kCorrupt;
  if (!strips && (!tile_width || *tile_width == 0)) return Fault::kCorrupt;
  tiles_.width = strips ? width() : *tile_width;
  tiles_.height = strips ? std::min(*tile_height, height()) : *tile_height;
  const uint64_t area = uint64_t{width()} * height();
  if (uint64_t{tiles_.width} * tiles_.height > std::max(area, kLargestTile))
    return Fault::kTooManyPixels;
  const uint64_t planes = layout_.planar ? layout_.samples : 1;
  const uint64_t wanted =
      planes * PiecesOf(width(), tiles_.width) * PiecesOf(height(), tiles_.height);
  if (tiles_.offsets.count < wanted) return Fault::kCorrupt;
  // Pillow starts again with the strips that are left over.
  const bool more = tiles_.offsets.count > wanted;
  return more && !layout_.compressed() ? Fault::kUnsupported : Fault::kNone;
}

Fault TiffReader::Decode(std::span<const std::byte> file, Pixels& pixels) {
  if (!layout_.compressed()) return DecodePlain(file, pixels);
  const TiffRows rows(layout_, {.endian = kMachines});
  const Fault fault = DecodeTiff(file, layout_, [&](const TiffBlock& block) {
    for (uint32_t i = 0; i < block.height; ++i)
      rows.Put(block.rows + block.stride * i, block.plane, block.width,
               pixels.row(block.y + i) + size_t{4} * block.x);
  });
  for (uint32_t y = 0; fault == Fault::kNone && layout_.planar && y < height(); ++y)
    rows.FinishPlanes(width(), pixels.row(y));
  return fault;
}

Fault TiffReader::DecodePlain(std::span<const std::byte> file, Pixels& pixels) const {
  const TiffRows rows(layout_,
                      {.endian = directory_.endian(), .bits_reversed = layout_.bits_reversed});
  for (uint32_t plane = 0; plane < (layout_.planar ? layout_.samples : 1); ++plane) {
    const Fault fault = DecodePlane(file, plane, rows, pixels);
    if (fault != Fault::kNone) return fault;
  }
  return Fault::kNone;
}

Fault TiffReader::DecodePlane(std::span<const std::byte> file, uint32_t plane, const TiffRows& rows,
                              Pixels& pixels) const {
  const uint64_t together = layout_.planar ? 1 : layout_.samples;
  const uint64_t row_bytes = (together * layout_.bits * tiles_.width + 7) / 8;
  uint64_t number = plane * PiecesOf(width(), tiles_.width) * PiecesOf(height(), tiles_.height);
  for (uint64_t y = 0; y < height(); y += tiles_.height) {
    for (uint64_t x = 0; x < width(); x += tiles_.width) {
      const uint64_t high = std::min<uint64_t>(tiles_.height, height() - y);
      const uint64_t at = directory_.Number(tiles_.offsets, number++);
      if (at > file.size() || file.size() - at < row_bytes * high) return Fault::kTruncated;
      const auto count = static_cast<uint32_t>(std::min<uint64_t>(tiles_.width, width() - x));
      for (uint64_t row = 0; row < high; ++row)
        rows.Put(file.data() + at + row_bytes * row, plane, count,
                 pixels.row(static_cast<uint32_t>(y + row)) + size_t{4} * x);
    }
  }
  return Fault::kNone;
}

}  // namespace penstock::decode
