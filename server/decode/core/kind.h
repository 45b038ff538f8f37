// What kind of file it is, by its first bytes; names and extensions are not asked. Pure.
#pragma once

#include <cstddef>
#include <span>

namespace penstock::decode {

enum class Kind {
  kUnknown,
  kJpeg,
  kPng,
  kWebP,
  kGif,
  kBmp,
  kNetpbm,  // PBM, PGM, PPM; PAM, too, which its reader refuses
  kTiff,
  kOtherImage,  // BigTIFF with the highest byte first, TGA, JPEG 2000, JPEG XL, AVIF, HEIF
};

Kind KindOf(std::span<const std::byte> file);

}  // namespace penstock::decode
