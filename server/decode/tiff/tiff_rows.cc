#include "server/decode/tiff/tiff_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace penstock::decode {
namespace {

// Multiplies two fractions of 255, rounded as in Pillow.
uint32_t Product(uint32_t a, uint32_t b) {
  const uint32_t product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

uint32_t Reversed(uint32_t byte) {
  byte = (byte & 0xF0) >> 4 | (byte & 0x0F) << 4;
  byte = (byte & 0xCC) >> 2 | (byte & 0x33) << 2;
  return (byte & 0xAA) >> 1 | (byte & 0x55) << 1;
}

void PutGray(uint32_t gray, uint8_t* pixel) {
  pixel[0] = pixel[1] = pixel[2] = static_cast<uint8_t>(gray);
  pixel[3] = 255;
}

// Converts cyan, magenta, yellow and black in place.
void MixInks(uint8_t* pixel) {
  const uint32_t light = 255u - pixel[3];
  for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>(light - Product(pixel[c], light));
  pixel[3] = 255;
}

// Divides red, green and blue by alpha, in place.
void Unmultiply(uint8_t* pixel) {
  const uint32_t alpha = pixel[3];
  for (int c = 0; c < 3 && alpha != 255; ++c)
    pixel[c] = static_cast<uint8_t>(alpha == 0 ? 0 : std::min(pixel[c] * 255u / alpha, 255u));
  pixel[3] = 255;
}

}  // namespace

void TiffRows::Put(const std::byte* from, uint32_t plane, uint32_t count, uint8_t* row) const {
  switch (layout_.color) {
    case TiffColor::kIndexed:
      if (plane == 0) PutIndices(from, count, row);
      break;
    case TiffColor::kGrayAlpha:
    case TiffColor::kDeepGray:
    case TiffColor::kSignedGray:
    case TiffColor::kFloatGray:
      if (plane == 0) PutGrays(from, count, row);
      break;
    case TiffColor::kRgb:
    case TiffColor::kPremultipliedRgb:
    case TiffColor::kInks:
      if (layout_.planar) {
        PutPlane(from, plane, count, row);
      } else {
        PutColors(from, count, row);
      }
      break;
    case TiffColor::kYcc:
      std::memcpy(row, from, size_t{4} * count);
      break;
  }
}

uint32_t TiffRows::ByteOf(const std::byte* from, size_t at) const {
  const auto byte = std::to_integer<uint32_t>(from[at]);
  return samples_.bits_reversed ? Reversed(byte) : byte;
}

void TiffRows::PutIndices(const std::byte* from, uint32_t count, uint8_t* row) const {
  const uint32_t bits = layout_.bits, a_byte = 8 / bits;
  const size_t step = layout_.planar ? 1 : layout_.samples;
  for (uint32_t x = 0; x < count; ++x, row += 4) {
    const uint32_t shift = 8 - bits - x % a_byte * bits;
    const uint32_t index = ByteOf(from, x * step / a_byte) >> shift & ((1u << bits) - 1);
    layout_.palette.Put(static_cast<uint8_t>(index), row);
  }
}

void TiffRows::PutGrays(const std::byte* from, uint32_t count, uint8_t* row) const {
  for (uint32_t x = 0; x < count; ++x, row += 4) PutGray(GrayOf(from, x), row);
}

uint32_t TiffRows::GrayOf(const std::byte* from, uint32_t x) const {
  if (layout_.color == TiffColor::kGrayAlpha) return ByteOf(from, x * (layout_.planar ? 1u : 2u));
  if (layout_.bits == 12) {
    const size_t at = size_t{x} / 2 * 3 + x % 2;
    const uint32_t two = ByteOf(from, at) << 8 | ByteOf(from, at + 1);
    return std::min(x % 2 == 0 ? two >> 4 : two & 0xFFF, 255u);
  }
  const size_t bytes = layout_.bits / 8;
  uint32_t number = 0;
  for (size_t i = 0; i < bytes; ++i) {
    const size_t upper_first = samples_.endian == Endian::kBig ? i : bytes - 1 - i;
    number = number << 8 | ByteOf(from, x * bytes + upper_first);
  }
  if (layout_.color == TiffColor::kDeepGray) return std::min(number, 255u);
  if (layout_.color == TiffColor::kFloatGray) {
    const auto value = std::bit_cast<float>(number);
    return value >= 255 ? 255 : value > 0 ? static_cast<uint32_t>(value) : 0;  // NaN: 0
  }
  const int32_t value = bytes == 2 ? static_cast<int16_t>(number) : static_cast<int32_t>(number);
  return static_cast<uint32_t>(std::clamp(value, 0, 255));
}

void TiffRows::PutColors(const std::byte* from, uint32_t count, uint8_t* row) const {
  const size_t sample = layout_.bits / 8, pixel = layout_.samples * sample;
  const size_t wanted = std::min(layout_.samples, 4u);
  for (uint32_t x = 0; x < count; ++x, row += 4) {
    row[3] = 255;
    for (size_t c = 0; c < wanted; ++c)
      row[c] = static_cast<uint8_t>(ByteOf(from, x * pixel + c * sample + shown()));
    if (layout_.color == TiffColor::kInks) MixInks(row);
    if (layout_.color == TiffColor::kPremultipliedRgb) Unmultiply(row);
  }
}

void TiffRows::PutPlane(const std::byte* from, uint32_t plane, uint32_t count, uint8_t* row) const {
  const size_t sample = layout_.bits / 8;
  if (layout_.samples == 3 && plane == 0)
    for (uint32_t x = 0; x < count; ++x) row[4 * size_t{x} + 3] = 255;
  for (uint32_t x = 0; x < count; ++x)
    row[4 * size_t{x} + plane] = static_cast<uint8_t>(ByteOf(from, x * sample + shown()));
}

void TiffRows::FinishPlanes(uint32_t count, uint8_t* row) const {
  for (uint32_t x = 0; x < count; ++x, row += 4) {
    if (layout_.color == TiffColor::kInks) MixInks(row);
    if (layout_.color == TiffColor::kPremultipliedRgb) Unmultiply(row);
  }
}

}  // namespace penstock::decode
