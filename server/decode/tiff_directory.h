// A TIFF's first directory: what the tags say that are looked at. Pure; refers to the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/base/fault.h"
#include "server/decode/bytes.h"

namespace penstock::decode {

enum class TiffTag : uint16_t {
  kWidth = 256,
  kHeight = 257,
  kBitsPerSample = 258,
  kCompression = 259,
  kPhotometric = 262,
  kFillOrder = 266,
  kStripOffsets = 273,
  kOrientation = 274,
  kSamplesPerPixel = 277,
  kRowsPerStrip = 278,
  kStripBytes = 279,
  kPlanarConfiguration = 284,
  kPredictor = 317,
  kColorMap = 320,
  kTileWidth = 322,
  kTileHeight = 323,
  kTileOffsets = 324,
  kTileBytes = 325,
  kExtraSamples = 338,
  kSampleFormat = 339,
};

// The numbers of one tag.
struct TiffNumbers {
  size_t at = 0, bytes_each = 0;  // within the file, which has them all
  uint32_t count = 0;             // 0: there is no such tag
};

class TiffDirectory {
 public:
  // `file` begins as a TIFF does. kUnsupported: a tag that is looked at has no whole numbers, or
  // not all of them are there.
  base::Fault Read(std::span<const std::byte> file);

  TiffNumbers Find(TiffTag tag) const;
  uint32_t Number(const TiffNumbers& numbers, uint32_t index) const {
    return ReadNumber(file_, numbers.at + numbers.bytes_each * index, numbers.bytes_each, endian_);
  }
  // The tag's one number, or what it is without the tag. Nothing: it has several.
  std::optional<uint32_t> One(TiffTag tag, uint32_t otherwise) const;
  Endian endian() const { return endian_; }

 private:
  TiffNumbers NumbersOf(size_t entry) const;

  std::span<const std::byte> file_;
  Endian endian_ = Endian::kLittle;
  size_t entries_at_ = 0;
  uint32_t entries_ = 0;
};

}  // namespace penstock::decode
