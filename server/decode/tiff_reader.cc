#include "server/decode/tiff_reader.h"

#include <algorithm>

namespace penstock::decode {
namespace {

using base::Fault;

constexpr uint32_t kMostSamples = 6;
constexpr uint32_t kWhiteIsZero = 0, kBlackIsZero = 1, kRgbColors = 2, kIndices = 3, kInkColors = 5;
constexpr uint32_t kOtherSamples = 0, kAlpha = 2, kCorelsAlpha = 999;
constexpr uint64_t kLargestTile = 1 << 20;  // pixels, of an image that has fewer

// Pillow's product of two shares of 255.
uint32_t Product(uint32_t a, uint32_t b) {
  const uint32_t product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

}  // namespace

Fault TiffReader::ParseHeader(std::span<const std::byte> file) {
  if (const Fault fault = directory_.Read(file); fault != Fault::kNone) return fault;
  for (const auto parse : {&TiffReader::ParseSize, &TiffReader::ParseSamples,
                           &TiffReader::ParseColor, &TiffReader::ParseTiles}) {
    if (const Fault fault = (this->*parse)(); fault != Fault::kNone) return fault;
  }
  return Fault::kNone;
}

Fault TiffReader::ParseSize() {
  const auto width = directory_.One(TiffTag::kWidth, 0);
  const auto height = directory_.One(TiffTag::kHeight, 0);
  const auto orientation = directory_.One(TiffTag::kOrientation, 1);
  if (!width || !height || *width == 0 || *height == 0) return Fault::kCorrupt;
  if (!orientation || (*orientation >= 2 && *orientation <= 8)) return Fault::kUnsupported;
  SetSize(*width, *height);
  return Fault::kNone;
}

// One number of bits for all samples of a pixel, which lie together.
Fault TiffReader::ParseSamples() {
  const auto samples = directory_.One(TiffTag::kSamplesPerPixel, 1);
  const auto compression = directory_.One(TiffTag::kCompression, 1);
  const auto fill_order = directory_.One(TiffTag::kFillOrder, 1);
  const auto planes = directory_.One(TiffTag::kPlanarConfiguration, 1);
  const auto predictor = directory_.One(TiffTag::kPredictor, 1);
  if (!samples || *samples < 1 || *samples > kMostSamples) return Fault::kUnsupported;
  if (!compression || !Unpacks(*compression)) return Fault::kUnsupported;
  if (fill_order != 1u || !planes || (*planes != 1 && *samples > 1)) return Fault::kUnsupported;
  samples_ = *samples;
  compression_ = static_cast<TiffCompression>(*compression);

  const TiffNumbers bits = directory_.Find(TiffTag::kBitsPerSample);
  bits_ = bits.count == 0 ? 1 : directory_.Number(bits, 0);
  if (bits.count > 1 && bits.count < samples_) return Fault::kUnsupported;
  for (uint32_t i = 1; i < std::min(bits.count, samples_); ++i)
    if (directory_.Number(bits, i) != bits_) return Fault::kUnsupported;
  const TiffNumbers format = directory_.Find(TiffTag::kSampleFormat);
  for (uint32_t i = 0; i < std::min(format.count, kMostSamples); ++i)
    if (directory_.Number(format, i) != 1) return Fault::kUnsupported;

  // Only what LZW and deflate compress can be predicted; elsewhere nobody looks at the tag.
  const bool may =
      compression_ != TiffCompression::kNone && compression_ != TiffCompression::kPackBits;
  predicted_ = may && predictor == 2u;
  if (may && predictor != 1u && !(predicted_ && bits_ == 8)) return Fault::kUnsupported;
  return Fault::kNone;
}

// Behind the colours: nothing said, or alpha that is not multiplied in, or samples of no meaning.
bool TiffReader::ExtraSamplesAre(uint32_t colors) const {
  const TiffNumbers extra = directory_.Find(TiffTag::kExtraSamples);
  if (samples_ < colors) return false;
  if (extra.count == 0) return samples_ == colors || (colors == 3 && samples_ == 4);
  if (extra.count != samples_ - colors) return false;
  for (uint32_t i = 0; i < extra.count; ++i) {
    const uint32_t meaning = directory_.Number(extra, i);
    const bool alpha =
        i == 0 && colors != 4 && (meaning == kAlpha || (meaning == kCorelsAlpha && samples_ == 4));
    if (meaning != kOtherSamples && !alpha) return false;
  }
  return true;
}

Fault TiffReader::ParseColor() {
  const auto photometric = directory_.One(TiffTag::kPhotometric, kWhiteIsZero);
  if (!photometric) return Fault::kUnsupported;
  const bool indexed = samples_ == 1 && (bits_ == 1 || bits_ == 2 || bits_ == 4 || bits_ == 8);
  color_ = Color::kIndexed;
  switch (*photometric) {
    case kWhiteIsZero:
    case kBlackIsZero:
      if (*photometric == kBlackIsZero && samples_ == 2 && bits_ == 8) {
        color_ = Color::kGrayWithAlpha;
        const TiffNumbers extra = directory_.Find(TiffTag::kExtraSamples);
        const bool alpha = extra.count == 1 && directory_.Number(extra, 0) == kAlpha;
        return alpha ? Fault::kNone : Fault::kUnsupported;
      }
      return indexed && ExtraSamplesAre(1) ? SetGrays(*photometric == kWhiteIsZero)
                                           : Fault::kUnsupported;
    case kIndices:
      return indexed && ExtraSamplesAre(1) ? SetColors() : Fault::kUnsupported;
    case kRgbColors:
      color_ = Color::kRgb;
      return (bits_ == 8 || (bits_ == 16 && samples_ <= 4)) && ExtraSamplesAre(3)
                 ? Fault::kNone
                 : Fault::kUnsupported;
    case kInkColors:
      color_ = Color::kInks;
      return bits_ == 8 && ExtraSamplesAre(4) ? Fault::kNone : Fault::kUnsupported;
    default:
      return Fault::kUnsupported;
  }
}

Fault TiffReader::SetGrays(bool white_is_zero) {
  const uint32_t most = (1u << bits_) - 1;
  for (uint32_t i = 0; i <= most; ++i) {
    const uint32_t gray = i * 255 / most, shown = white_is_zero ? 255 - gray : gray;
    palette_.Set(i, shown, shown, shown);
  }
  return Fault::kNone;
}

// All reds, then all greens, then all blues; 16 bits each, of which the upper ones are shown.
Fault TiffReader::SetColors() {
  const TiffNumbers map = directory_.Find(TiffTag::kColorMap);
  const uint32_t colors = 1u << bits_;
  if (map.count != 3 * colors || map.bytes_each != 2) return Fault::kUnsupported;
  const auto at = [&](uint32_t i) { return directory_.Number(map, i) >> 8; };
  for (uint32_t i = 0; i < colors; ++i) palette_.Set(i, at(i), at(colors + i), at(2 * colors + i));
  return Fault::kNone;
}

Fault TiffReader::ParseTiles() {
  const bool strips = directory_.Find(TiffTag::kStripOffsets).count != 0;
  tiles_.whole = !strips;
  tiles_.offsets = directory_.Find(strips ? TiffTag::kStripOffsets : TiffTag::kTileOffsets);
  tiles_.bytes = directory_.Find(strips ? TiffTag::kStripBytes : TiffTag::kTileBytes);
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
  const uint64_t across = (uint64_t{width()} + tiles_.width - 1) / tiles_.width;
  const uint64_t down = (uint64_t{height()} + tiles_.height - 1) / tiles_.height;
  if (tiles_.offsets.count < across * down) return Fault::kCorrupt;
  const bool sized = tiles_.bytes.count >= across * down;
  return sized || compression_ == TiffCompression::kNone ? Fault::kNone : Fault::kCorrupt;
}

Fault TiffReader::Decode(std::span<const std::byte> file, Pixels& pixels) {
  uint32_t number = 0;
  for (uint64_t y = 0; y < height(); y += tiles_.height) {
    for (uint64_t x = 0; x < width(); x += tiles_.width) {
      const Fault fault =
          DecodeTile(file, number++, static_cast<uint32_t>(x), static_cast<uint32_t>(y), pixels);
      if (fault != Fault::kNone) return fault;
    }
  }
  return Fault::kNone;
}

// `bytes`: how many there are where nothing is compressed. Empty: not within the file.
std::span<const std::byte> TiffReader::PackedOf(std::span<const std::byte> file, uint32_t number,
                                                uint64_t bytes) const {
  const uint64_t at = directory_.Number(tiles_.offsets, number);
  if (compression_ != TiffCompression::kNone) bytes = directory_.Number(tiles_.bytes, number);
  if (at > file.size() || file.size() - at < bytes) return {};
  return file.subspan(at, bytes);
}

Fault TiffReader::DecodeTile(std::span<const std::byte> file, uint32_t number, uint32_t x,
                             uint32_t y, Pixels& pixels) {
  const uint32_t rows = std::min(tiles_.height, height() - y);
  const uint32_t columns = std::min(tiles_.width, width() - x);
  const bool packed = compression_ != TiffCompression::kNone;
  const size_t row_bytes = RowBytes(tiles_.width);
  const uint64_t bytes = row_bytes * (tiles_.whole && packed ? tiles_.height : rows);
  const std::span<const std::byte> stored = PackedOf(file, number, bytes);
  if (stored.empty()) return Fault::kTruncated;
  const std::byte* from = stored.data();
  if (packed) {
    unpacked_.resize(bytes);
    if (const Fault fault = Unpack(compression_, stored, unpacked_); fault != Fault::kNone)
      return fault;
    if (predicted_) UndoPrediction(unpacked_, row_bytes);
    from = unpacked_.data();
  }
  for (uint32_t row = 0; row < rows; ++row)
    PutRow(from + row_bytes * row, columns, pixels.row(y + row) + size_t{4} * x);
  if (unpacked_.capacity() > kLargestTile) std::vector<std::byte>().swap(unpacked_);
  return Fault::kNone;
}

void TiffReader::UndoPrediction(std::span<std::byte> rows, size_t row_bytes) const {
  for (size_t at = 0; at < rows.size(); at += row_bytes) {
    for (size_t i = samples_; i < row_bytes; ++i) {
      const auto sum = std::to_integer<uint32_t>(rows[at + i]) +
                       std::to_integer<uint32_t>(rows[at + i - samples_]);
      rows[at + i] = static_cast<std::byte>(sum & 255);
    }
  }
}

void TiffReader::PutRow(const std::byte* from, uint32_t count, uint8_t* row) const {
  const auto byte = [from](size_t i) { return std::to_integer<uint32_t>(from[i]); };
  const size_t sample = bits_ == 16 ? 2 : 1;
  const size_t upper = bits_ == 16 && directory_.endian() == Endian::kLittle ? 1 : 0;
  for (uint32_t x = 0; x < count; ++x, row += 4) {
    const size_t at = size_t{x} * samples_ * sample;
    row[3] = 255;
    switch (color_) {
      case Color::kIndexed: {
        const uint32_t a_byte = 8 / bits_, shift = 8 - bits_ - x % a_byte * bits_;
        const uint32_t index = byte(x / a_byte) >> shift & ((1u << bits_) - 1);
        palette_.Put(static_cast<uint8_t>(index), row);
        break;
      }
      case Color::kGrayWithAlpha:
        row[0] = row[1] = row[2] = static_cast<uint8_t>(byte(at));
        break;
      case Color::kRgb:
        for (size_t c = 0; c < 3; ++c) row[c] = static_cast<uint8_t>(byte(at + c * sample + upper));
        break;
      case Color::kInks: {
        const uint32_t light = 255 - byte(at + 3);
        for (size_t c = 0; c < 3; ++c)
          row[c] = static_cast<uint8_t>(light - Product(byte(at + c), light));
        break;
      }
    }
  }
}

}  // namespace penstock::decode
