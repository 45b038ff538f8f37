// Recognises a file's format by its first bytes, regardless of its name. Pure.
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
  kNetpbm,  // PBM, PGM, PPM; also PAM, which the reader refuses
  kTiff,
  kOtherImage,  // big-endian BigTIFF, TGA, JPEG 2000, JPEG XL, AVIF, HEIF
};

Kind KindOf(std::span<const std::byte> file);

}  // namespace penstock::decode
