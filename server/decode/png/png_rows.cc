#include "server/decode/png/png_rows.h"

#include <algorithm>

namespace penstock::decode {
namespace {

using PngColor = PngHeader::ColorType;

// Calls put(input pixel, output pixel) for each pixel.
template <typename Put>
void ForEachPixel(const uint8_t* samples, size_t bytes, uint32_t count, uint32_t step, uint8_t* out,
                  Put put) {
  for (uint32_t i = 0; i < count; ++i) put(samples + i * bytes, out + size_t{4} * step * i);
}

}  // namespace

PngRows::PngRows(const PngHeader& header)
    : pixel_bytes_(header.channels() * (header.depth == 16 ? 2 : 1)) {
  const uint8_t channel_bytes = header.depth == 16 ? 2 : 1;
  if (header.color == PngColor::kPalette ||
      (header.color == PngColor::kGray && header.depth <= 8)) {
    way_ = Way::kTable;
    const uint32_t most = (1u << header.depth) - 1;
    for (uint32_t i = 0; i < table_.size(); ++i) {
      const uint32_t shade = header.color == PngColor::kGray ? std::min(i, most) * 255 / most : i;
      table_[i].fill(static_cast<uint8_t>(shade));
    }
  } else if (header.color == PngColor::kGray) {
    way_ = Way::kClip;
  } else {
    way_ = Way::kPick;
    const bool gray = header.color == PngColor::kGrayAlpha;
    for (uint8_t i = 0; i < 3; ++i) picked_[i] = static_cast<uint8_t>(gray ? 0 : i * channel_bytes);
  }
}

void PngRows::SetPalette(const uint8_t* entries, uint32_t count) {
  for (uint32_t i = 0; i < std::min<uint32_t>(count, table_.size()); ++i) {
    std::copy_n(entries + size_t{3} * i, 3, table_[i].begin());
  }
}

void PngRows::Convert(const uint8_t* samples, uint32_t count, uint32_t step, uint8_t* out) const {
  switch (way_) {
    case Way::kTable:
      return ForEachPixel(samples, 1, count, step, out, [this](const uint8_t* in, uint8_t* to) {
        std::copy_n(table_[*in].begin(), 3, to);
      });
    case Way::kClip:
      return ForEachPixel(samples, 2, count, step, out, [](const uint8_t* in, uint8_t* to) {
        std::fill_n(to, 3, in[0] != 0 ? 255 : in[1]);
      });
    case Way::kPick:
      const auto [r, g, b] = picked_;
      return ForEachPixel(samples, pixel_bytes_, count, step, out,
                          [r = r, g = g, b = b](const uint8_t* in, uint8_t* to) {
                            to[0] = in[r];
                            to[1] = in[g];
                            to[2] = in[b];
                          });
  }
}

}  // namespace penstock::decode
