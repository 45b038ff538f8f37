// The tags that the decoder needs, from the first directory of a TIFF or BigTIFF. Pure.
// **Ownership**: refers to the file, which must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/base/fault.h"
#include "server/decode/core/bytes.h"

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
  size_t at = 0, bytes_each = 0;  // within the file, which contains them all
  uint64_t count = 0;             // 0: the tag is absent
};

class TiffDirectory {
 public:
  // **Requires**: `file` begins like a TIFF. **Errors**: kUnsupported if a needed tag holds
  // something other than whole numbers, or the file lacks a tag's values.
  base::Fault Read(std::span<const std::byte> file);

  TiffNumbers Find(TiffTag tag) const;
  // **Requires**: index < numbers.count.
  uint64_t Number(const TiffNumbers& numbers, uint64_t index) const {
    return NumberAt(numbers.at + numbers.bytes_each * index, numbers.bytes_each);
  }
  // The tag's single number, or `otherwise` if the tag is absent. Nullopt if it has several, or one
  // that needs more than 32 bits.
  std::optional<uint32_t> One(TiffTag tag, uint32_t otherwise) const;
  Endian endian() const { return endian_; }

 private:
  base::Fault ReadHead();
  uint64_t NumberAt(size_t at, size_t bytes) const;
  bool IsThere(size_t entry) const;
  TiffNumbers ReadNumbers(size_t entry) const;
  size_t EntryAt(uint64_t entry) const { return entries_at_ + entry_bytes() * entry; }
  size_t offset_bytes() const { return big_ ? 8 : 4; }
  size_t entry_bytes() const { return 4 + 2 * offset_bytes(); }

  std::span<const std::byte> file_;
  Endian endian_ = Endian::kLittle;
  bool big_ = false;
  size_t entries_at_ = 0;
  uint64_t entries_ = 0;
};

}  // namespace penstock::decode
