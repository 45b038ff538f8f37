// Finds the EXIF block in each file format, as Pillow does: the first of several in a JPEG or WebP,
// the last of several in a PNG.
#include <algorithm>

#include "server/decode/core/bytes.h"
#include "server/decode/core/exif.h"
#include "server/decode/png/png_header.h"

namespace penstock::decode {
namespace {

using Bytes = std::span<const std::byte>;

bool StartsWith(Bytes bytes, std::span<const char> prefix) {
  if (bytes.size() < prefix.size()) return false;
  for (size_t i = 0; i < prefix.size(); ++i) {
    if (bytes[i] != static_cast<std::byte>(prefix[i])) return false;
  }
  return true;
}

constexpr char kExif[] = {'E', 'x', 'i', 'f', 0, 0};

Bytes WithoutPrefix(Bytes block) {
  return StartsWith(block, kExif) ? block.subspan(std::size(kExif)) : block;
}

// Visits the segments before the first scan (ITU T.81, annex B) and skips bytes between them.
Bytes InJpeg(Bytes file) {
  constexpr uint32_t kApp1 = 0xE1, kScan = 0xDA, kEnd = 0xD9;
  size_t at = 2;
  while (at < file.size() && file.size() - at >= 4) {
    if (file[at] != std::byte{0xFF}) {
      ++at;
      continue;
    }
    const uint32_t marker = ReadNumber(file, at + 1, 1, Endian::kBig);
    if (marker == kScan || marker == kEnd) return {};
    const bool alone = marker == 0xFF || marker <= 0x01 || (marker >= 0xD0 && marker <= 0xD8);
    if (alone) {
      at += marker == 0xFF ? 1 : 2;
      continue;
    }
    const size_t bytes = ReadNumber(file, at + 2, 2, Endian::kBig);
    if (bytes < 2 || bytes > file.size() - at - 2) return {};
    const Bytes segment = file.subspan(at + 4, bytes - 2);
    if (marker == kApp1 && StartsWith(segment, std::span(kExif).first(5))) {
      return WithoutPrefix(segment);
    }
    at += 2 + bytes;
  }
  return {};
}

Bytes InPng(Bytes file) {
  Bytes found;
  ForEachPngChunk(file, [&found](const PngChunk& chunk) {
    if (chunk.name == FourLetters("eXIf")) found = chunk.data;
  });
  return WithoutPrefix(found);
}

// WebP container specification: only the extended format can have a block; a flag in its first byte
// says so.
Bytes InWebP(Bytes file) {
  constexpr size_t kContainerBytes = 12, kHeadBytes = 8, kExtendedBytes = 10;
  constexpr std::byte kHasExif{0x08};
  Bytes rest = file.subspan(std::min(file.size(), kContainerBytes));
  bool first = true;
  while (rest.size() >= kHeadBytes) {
    const uint32_t name = ReadNumber(rest, 0, 4, Endian::kBig);
    const size_t bytes = ReadNumber(rest, 4, 4, Endian::kLittle);
    if (bytes > rest.size() - kHeadBytes) return {};
    const Bytes data = rest.subspan(kHeadBytes, bytes);
    if (first && (name != FourLetters("VP8X") || bytes < kExtendedBytes ||
                  (data[0] & kHasExif) == std::byte{0})) {
      return {};
    }
    first = false;
    if (name == FourLetters("EXIF")) return WithoutPrefix(data);
    rest = rest.subspan(std::min(rest.size(), kHeadBytes + bytes + bytes % 2));
  }
  return {};
}

}  // namespace

Bytes FindExif(Kind kind, Bytes file) {
  switch (kind) {
    case Kind::kJpeg:
      return InJpeg(file);
    case Kind::kPng:
      return InPng(file);
    case Kind::kWebP:
      return InWebP(file);
    default:
      return {};
  }
}

}  // namespace penstock::decode
