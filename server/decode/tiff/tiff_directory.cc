#include "server/decode/tiff/tiff_directory.h"

#include <limits>

namespace penstock::decode {
namespace {

using base::Fault;

constexpr size_t kHeaderBytes = 8, kBigHeaderBytes = 16;
constexpr uint32_t kBigVersion = 43;

// SHORT, LONG and LONG8. Pillow treats BYTE as text, and nobody writes signed numbers.
size_t BytesOf(uint32_t type) {
  constexpr uint32_t kShort = 3, kLong = 4, kLong8 = 16;
  if (type == kShort) return 2;
  if (type == kLong8) return 8;
  return type == kLong ? 4 : 0;
}

// Handles every type that Pillow knows.
size_t AnyBytesOf(uint32_t type) {
  constexpr uint8_t kBytes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8};
  return type < std::size(kBytes) ? kBytes[type] : 0;
}

bool IsLookedAt(uint64_t tag) {
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

uint64_t TiffDirectory::NumberAt(size_t at, size_t bytes) const {
  if (bytes <= 4) return ReadNumber(file_, at, bytes, endian_);
  const uint64_t first = ReadNumber(file_, at, 4, endian_);
  const uint64_t second = ReadNumber(file_, at + 4, 4, endian_);
  return endian_ == Endian::kBig ? first << 32 | second : second << 32 | first;
}

Fault TiffDirectory::Read(std::span<const std::byte> file) {
  file_ = file;
  if (const Fault fault = ReadHead(); fault != Fault::kNone) return fault;
  for (uint64_t i = 0; i < entries_; ++i) {
    if (!IsThere(EntryAt(i))) return Fault::kUnsupported;
    if (IsLookedAt(NumberAt(EntryAt(i), 2)) && ReadNumbers(EntryAt(i)).count == 0)
      return Fault::kUnsupported;
  }
  return Fault::kNone;
}

// Whether the file contains all values of a tag. Pillow ignores the tags after one that is
// incomplete.
bool TiffDirectory::IsThere(size_t entry) const {
  const size_t each = AnyBytesOf(ReadNumber(file_, entry + 2, 2, endian_));
  const uint64_t count = NumberAt(entry + 4, offset_bytes());
  if (each == 0 || count <= offset_bytes() / each) return true;
  const uint64_t at = NumberAt(entry + 4 + offset_bytes(), offset_bytes());
  return at <= file_.size() && count <= (file_.size() - at) / each;
}

// Finds the directory's entries, all of which must lie in the file.
Fault TiffDirectory::ReadHead() {
  if (file_.size() < kHeaderBytes) return Fault::kTruncated;
  endian_ = std::to_integer<char>(file_[0]) == 'I' ? Endian::kLittle : Endian::kBig;
  big_ = NumberAt(2, 2) == kBigVersion;
  const size_t header = big_ ? kBigHeaderBytes : kHeaderBytes;
  if (file_.size() < header) return Fault::kTruncated;
  if (big_ && (NumberAt(4, 2) != 8 || NumberAt(6, 2) != 0)) return Fault::kCorrupt;
  const uint64_t at = NumberAt(header - offset_bytes(), offset_bytes());
  if (at < header) return Fault::kCorrupt;
  const size_t count_bytes = big_ ? 8 : 2;
  if (at > file_.size() || file_.size() - at < count_bytes) return Fault::kTruncated;
  entries_ = NumberAt(at, count_bytes);
  entries_at_ = at + count_bytes;
  const bool there = (file_.size() - entries_at_) / entry_bytes() >= entries_;
  return there ? Fault::kNone : Fault::kTruncated;
}

TiffNumbers TiffDirectory::ReadNumbers(size_t entry) const {
  TiffNumbers found = {.at = entry + 4 + offset_bytes(),
                       .bytes_each = BytesOf(ReadNumber(file_, entry + 2, 2, endian_)),
                       .count = NumberAt(entry + 4, offset_bytes())};
  if (found.bytes_each == 0 || found.count > file_.size() / found.bytes_each) return {};
  const size_t bytes = found.bytes_each * found.count;
  if (bytes > offset_bytes()) found.at = NumberAt(found.at, offset_bytes());
  if (bytes == 0 || found.at > file_.size() || file_.size() - found.at < bytes) return {};
  return found;
}

// If a tag occurs twice, the last one counts.
TiffNumbers TiffDirectory::Find(TiffTag tag) const {
  for (uint64_t i = entries_; i-- > 0;)
    if (NumberAt(EntryAt(i), 2) == static_cast<uint64_t>(tag)) return ReadNumbers(EntryAt(i));
  return {};
}

std::optional<uint32_t> TiffDirectory::One(TiffTag tag, uint32_t otherwise) const {
  const TiffNumbers numbers = Find(tag);
  if (numbers.count == 0) return otherwise;
  if (numbers.count > 1) return std::nullopt;
  const uint64_t number = Number(numbers, 0);
  if (number > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  return static_cast<uint32_t>(number);
}

}  // namespace penstock::decode
