#include "server/decode/png/png_header.h"

#include <algorithm>
#include <cctype>

#include "server/decode/core/bytes.h"

namespace penstock::decode {
namespace {

constexpr size_t kSignatureBytes = 8;
constexpr size_t kFrameBytes = 12;  // of a chunk: length, name, CRC
constexpr size_t kHeadBytes = 8;    // length and name
constexpr size_t kPngHeaderBytes = 13;

bool MayHave(uint8_t color, uint8_t depth) {
  switch (color) {
    case PngHeader::kGray:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    case PngHeader::kPalette:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    case PngHeader::kRgb:
    case PngHeader::kGrayAlpha:
    case PngHeader::kRgba:
      return depth == 8 || depth == 16;
  }
  return false;
}

// Names that Pillow accepts: letters, digits, underscores.
bool IsName(uint32_t name) {
  for (int i = 0; i < 4; ++i, name >>= 8) {
    const auto letter = static_cast<unsigned char>(name);
    if (std::isalnum(letter) == 0 && letter != '_') return false;
  }
  return true;
}

// Visits complete chunks up to the end chunk; returns the rest of the file.
template <typename Visit>
std::span<const std::byte> Walk(std::span<const std::byte> file, const Visit& visit) {
  std::span<const std::byte> rest = file.subspan(std::min(file.size(), kSignatureBytes));
  while (rest.size() >= kFrameBytes) {
    const size_t bytes = ReadNumber(rest, 0, 4, Endian::kBig);
    const uint32_t name = ReadNumber(rest, 4, 4, Endian::kBig);
    if (bytes > rest.size() - kFrameBytes || name == FourLetters("IEND")) break;
    visit(PngChunk{name, rest.subspan(kHeadBytes, bytes)});
    rest = rest.subspan(kFrameBytes + bytes);
  }
  return rest;
}

}  // namespace

uint32_t PngHeader::channels() const {
  switch (color) {
    case kGray:
    case kPalette:
      return 1;
    case kGrayAlpha:
      return 2;
    case kRgb:
      return 3;
    case kRgba:
      return 4;
  }
  return 0;
}

base::Fault ParsePngHeader(std::span<const std::byte> file, PngHeader& header) {
  if (file.size() < kSignatureBytes + kFrameBytes + kPngHeaderBytes) return base::Fault::kTruncated;
  const auto number = [file](size_t offset, size_t count) {
    return ReadNumber(file, kSignatureBytes + offset, count, Endian::kBig);
  };
  if (number(0, 4) != kPngHeaderBytes || number(4, 4) != FourLetters("IHDR"))
    return base::Fault::kCorrupt;
  header.width = number(8, 4);
  header.height = number(12, 4);
  header.depth = static_cast<uint8_t>(number(16, 1));
  const auto color = static_cast<uint8_t>(number(17, 1));
  header.interlaced = number(20, 1) != 0;
  const bool sized = header.width >= 1 && header.width <= kMostPngSide && header.height >= 1 &&
                     header.height <= kMostPngSide;
  if (!sized || !MayHave(color, header.depth)) return base::Fault::kCorrupt;
  header.color = static_cast<PngHeader::ColorType>(color);
  return base::Fault::kNone;
}

void ForEachPngChunk(std::span<const std::byte> file,
                     const std::function<void(const PngChunk&)>& visit) {
  Walk(file, visit);
}

bool PngIsCutBehindData(std::span<const std::byte> file) {
  bool behind = false, data = false;
  const std::span<const std::byte> rest = Walk(file, [&](const PngChunk& chunk) {
    const bool is_data = chunk.name == FourLetters("IDAT");
    behind = behind || (data && !is_data);
    data = data || is_data;
  });
  if (rest.size() < kHeadBytes) return false;
  const uint32_t name = ReadNumber(rest, 4, 4, Endian::kBig);
  if (!behind && (!data || name == FourLetters("IDAT"))) return false;
  const size_t bytes = ReadNumber(rest, 0, 4, Endian::kBig);
  return IsName(name) && name != FourLetters("IEND") && bytes > rest.size() - kHeadBytes;
}

}  // namespace penstock::decode
