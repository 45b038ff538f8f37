#include "server/decode/tiff_directory.h"

namespace penstock::decode {
namespace {

using base::Fault;

constexpr size_t kHeaderBytes = 8, kEntryBytes = 12;

// Bytes are none of them: other readers take those for text.
size_t BytesOf(uint32_t type) {
  constexpr uint32_t kShort = 3, kLong = 4;
  if (type == kShort) return 2;
  return type == kLong ? 4 : 0;
}

bool IsLookedAt(uint32_t tag) {
  switch (static_cast<TiffTag>(tag)) {
    case TiffTag::kWidth:
    case TiffTag::kHeight:
    case TiffTag::kBitsPerSample:
    case TiffTag::kCompression:
    case TiffTag::kPhotometric:
    case TiffTag::kFillOrder:
    case TiffTag::kStripOffsets:
    case TiffTag::kOrientation:
    case TiffTag::kSamplesPerPixel:
    case TiffTag::kRowsPerStrip:
    case TiffTag::kStripBytes:
    case TiffTag::kPlanarConfiguration:
    case TiffTag::kPredictor:
    case TiffTag::kColorMap:
    case TiffTag::kTileWidth:
    case TiffTag::kTileHeight:
    case TiffTag::kTileOffsets:
    case TiffTag::kTileBytes:
    case TiffTag::kExtraSamples:
    case TiffTag::kSampleFormat:
      return true;
  }
  return false;
}

}  // namespace

Fault TiffDirectory::Read(std::span<const std::byte> file) {
  file_ = file;
  if (file.size() < kHeaderBytes) return Fault::kTruncated;
  endian_ = std::to_integer<char>(file[0]) == 'I' ? Endian::kLittle : Endian::kBig;
  const uint32_t at = ReadNumber(file, 4, 4, endian_);
  if (at < kHeaderBytes) return Fault::kCorrupt;
  if (at > file.size() || file.size() - at < 2) return Fault::kTruncated;
  entries_ = ReadNumber(file, at, 2, endian_);
  entries_at_ = size_t{at} + 2;
  if ((file.size() - entries_at_) / kEntryBytes < entries_) return Fault::kTruncated;
  for (uint32_t i = 0; i < entries_; ++i) {
    const size_t entry = entries_at_ + kEntryBytes * i;
    if (IsLookedAt(ReadNumber(file, entry, 2, endian_)) && NumbersOf(entry).count == 0)
      return Fault::kUnsupported;
  }
  return Fault::kNone;
}

TiffNumbers TiffDirectory::NumbersOf(size_t entry) const {
  TiffNumbers found = {.at = entry + 8,
                       .bytes_each = BytesOf(ReadNumber(file_, entry + 2, 2, endian_)),
                       .count = ReadNumber(file_, entry + 4, 4, endian_)};
  const uint64_t bytes = uint64_t{found.bytes_each} * found.count;
  if (bytes > 4) found.at = ReadNumber(file_, entry + 8, 4, endian_);
  if (bytes == 0 || found.at > file_.size() || file_.size() - found.at < bytes) return {};
  return found;
}

// Of a tag that comes twice the last one counts.
TiffNumbers TiffDirectory::Find(TiffTag tag) const {
  for (uint32_t i = entries_; i-- > 0;) {
    const size_t entry = entries_at_ + kEntryBytes * i;
    if (ReadNumber(file_, entry, 2, endian_) == static_cast<uint32_t>(tag)) return NumbersOf(entry);
  }
  return {};
}

std::optional<uint32_t> TiffDirectory::One(TiffTag tag, uint32_t otherwise) const {
  const TiffNumbers numbers = Find(tag);
  if (numbers.count == 0) return otherwise;
  return numbers.count == 1 ? std::optional(Number(numbers, 0)) : std::nullopt;
}

}  // namespace penstock::decode
