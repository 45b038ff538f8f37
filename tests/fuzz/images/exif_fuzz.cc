// Arbitrary bytes as a file with an EXIF block, and as the block itself.
#include <cstdint>
#include <functional>
#include <span>

#include "common/base/check.h"
#include "server/decode/core/exif.h"

namespace decode = penstock::decode;

namespace {

void CheckTag(std::span<const std::byte> tiff) {
  const int tag = decode::OrientationTag(tiff);
  PENSTOCK_CHECK(tag >= 1 && tag <= 8);
  PENSTOCK_CHECK(decode::ReadOrientation(tag).upright() == (tag == 1));
}

bool LiesIn(std::span<const std::byte> part, std::span<const std::byte> whole) {
  const std::less_equal<const std::byte*> before;
  return part.empty() || (before(whole.data(), part.data()) &&
                          before(part.data() + part.size(), whole.data() + whole.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  CheckTag(bytes);
  for (const decode::Kind kind : {decode::Kind::kJpeg, decode::Kind::kPng, decode::Kind::kWebP,
                                  decode::Kind::kOtherImage, decode::KindOf(bytes)}) {
    const auto tiff = decode::FindExif(kind, bytes);
    PENSTOCK_CHECK(LiesIn(tiff, bytes));
    CheckTag(tiff);
  }
  return 0;
}
