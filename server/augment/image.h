// Views of the pixels that operations read and write. Pure.
//
// **Ownership**: none; the caller owns the pixels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::augment {

// Pixels of an image: `channels` (1: gray, or 3: RGB) interleaved bytes each, rows one behind the
// other without gaps. Width and height are at least 1.
struct ImageView {
  uint8_t* data;
  uint32_t width, height, channels;

  size_t row_bytes() const { return size_t{width} * channels; }
  size_t pixels() const { return size_t{width} * height; }
  size_t bytes() const { return row_bytes() * height; }
  uint8_t* row(uint32_t y) const { return data + row_bytes() * y; }
};

struct ConstImageView {
  ConstImageView(const uint8_t* bytes, uint32_t w, uint32_t h, uint32_t c)
      : data(bytes), width(w), height(h), channels(c) {}
  ConstImageView(const ImageView& image)  // NOLINT: every view can be read
      : ConstImageView(image.data, image.width, image.height, image.channels) {}

  const uint8_t* data;
  uint32_t width, height, channels;

  size_t row_bytes() const { return size_t{width} * channels; }
  size_t pixels() const { return size_t{width} * height; }
  size_t bytes() const { return row_bytes() * height; }
  const uint8_t* row(uint32_t y) const { return data + row_bytes() * y; }
};

}  // namespace penstock::augment
