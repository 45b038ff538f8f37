#include "server/decode/core/exif.h"

#include <optional>

#include "server/decode/core/bytes.h"

namespace penstock::decode {
namespace {

using Bytes = std::span<const std::byte>;

constexpr uint32_t kOrientation = 0x0112;
constexpr size_t kTiffHeaderBytes = 8;
constexpr size_t kEntryBytes = 12;
constexpr size_t kInlineBytes = 4;  // longer values are stored elsewhere

// Size of one value of this type; 0 if the type is unknown. The list is Pillow's.
size_t UnitBytes(uint32_t type) {
  constexpr uint8_t kBytes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8};
  return type < std::size(kBytes) ? kBytes[type] : 0;
}

bool IsWholeNumber(uint32_t type) {
  constexpr uint32_t kShort = 3, kLong = 4, kSignedByte = 6, kSignedShort = 8, kSignedLong = 9,
                     kIfd = 13, kLong8 = 16;
  return type == kShort || type == kLong || type == kSignedByte || type == kSignedShort ||
         type == kSignedLong || type == kIfd || type == kLong8;
}

std::optional<Endian> ReadEndian(Bytes tiff) {
  const uint32_t mark = ReadNumber(tiff, 0, 4, Endian::kBig);
  if (mark == 0x49492A00 || mark == 0x4949002A) return Endian::kLittle;
  if (mark == 0x4D4D002A || mark == 0x4D4D2A00) return Endian::kBig;
  return std::nullopt;
}

// The values of an entry; nullopt if they exceed the data.
std::optional<Bytes> ValuesOf(Bytes tiff, Bytes entry, size_t unit, Endian endian) {
  const uint64_t bytes = uint64_t{unit} * ReadNumber(entry, 4, 4, endian);
  if (bytes <= kInlineBytes) return entry.subspan(8, bytes);
  const uint32_t offset = ReadNumber(entry, 8, 4, endian);
  if (offset > tiff.size() || bytes > tiff.size() - offset) return std::nullopt;
  return tiff.subspan(offset, bytes);
}

// The first value, `unit` bytes wide; 0 if it is larger than any orientation.
uint32_t FirstOf(Bytes values, size_t unit, Endian endian) {
  constexpr size_t kMost = 4;
  if (unit <= kMost) return ReadNumber(values, 0, unit, endian);
  const uint32_t first = ReadNumber(values, 0, kMost, endian);
  const uint32_t second = ReadNumber(values, kMost, kMost, endian);
  const bool small = (endian == Endian::kBig ? first : second) == 0;
  return !small ? 0 : endian == Endian::kBig ? second : first;
}

}  // namespace

int OrientationTag(Bytes tiff) {
  if (tiff.size() < kTiffHeaderBytes) return 1;
  const std::optional<Endian> endian = ReadEndian(tiff);
  if (!endian) return 1;
  const uint32_t start = ReadNumber(tiff, 4, 4, *endian);
  if (start > tiff.size() || tiff.size() - start < 2) return 1;
  const uint32_t entries = ReadNumber(tiff, start, 2, *endian);
  Bytes rest = tiff.subspan(start + 2);
  uint32_t found = 1;  // if there are several, the last one counts
  for (uint32_t i = 0; i < entries && rest.size() >= kEntryBytes; ++i) {
    const Bytes entry = rest.first(kEntryBytes);
    rest = rest.subspan(kEntryBytes);
    const uint32_t type = ReadNumber(entry, 2, 2, *endian);
    const size_t unit = UnitBytes(type);
    if (unit == 0) continue;
    const std::optional<Bytes> values = ValuesOf(tiff, entry, unit, *endian);
    if (!values) break;  // Pillow stops reading here too
    if (ReadNumber(entry, 0, 2, *endian) != kOrientation || values->empty()) continue;
    found = IsWholeNumber(type) ? FirstOf(*values, unit, *endian) : 1;
  }
  return found >= 1 && found <= 8 ? static_cast<int>(found) : 1;
}

Orientation ReadOrientation(int tag) {
  switch (tag) {
    case 2:
      return {.mirror_columns = true};
    case 3:
      return {.mirror_columns = true, .mirror_rows = true};
    case 4:
      return {.mirror_rows = true};
    case 5:
      return {.exchange = true};
    case 6:
      return {.mirror_rows = true, .exchange = true};
    case 7:
      return {.mirror_columns = true, .mirror_rows = true, .exchange = true};
    case 8:
      return {.mirror_columns = true, .exchange = true};
    default:
      return {};
  }
}

}  // namespace penstock::decode
