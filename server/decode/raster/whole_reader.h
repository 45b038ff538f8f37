// Base of readers that decode the whole file once the window is known. Keeps the image's size, and
// its pixels until the window's last row has been read.
//
// Memory: four bytes per pixel of the whole image, in addition to what decoding needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "server/decode/core/image_reader.h"
#include "server/decode/core/pixels.h"

namespace penstock::decode {

class WholeReader : public ImageReader {
 public:
  base::Fault ReadHeader(std::span<const std::byte> file) final;
  uint32_t width() const final { return width_; }
  uint32_t height() const final { return height_; }

  base::Fault Begin(const Box& window) override;
  size_t row_bytes() const final { return size_t{4} * window_.width; }
  size_t window_offset() const final { return 0; }
  base::Fault ReadRows(std::span<uint8_t* const> rows) override;
  base::Fault End() final;

 protected:
  // Reads what Decode needs, calls SetSize, and allocates nothing.
  virtual base::Fault ParseHeader(std::span<const std::byte> file) = 0;
  // Decodes all pixels. **Requires**: `file` is the one that was given to ParseHeader.
  virtual base::Fault Decode(std::span<const std::byte> file, Pixels& pixels) = 0;

  std::span<const std::byte> file() const { return file_; }
  const Box& window() const { return window_; }
  // For readers that need no pixels of the whole image.
  void SetWindow(const Box& window) { window_ = window, next_row_ = 0; }
  uint32_t NextRow() { return window_.y + next_row_++; }

  void SetSize(uint32_t width, uint32_t height) { width_ = width, height_ = height; }

 private:
  std::span<const std::byte> file_;
  uint32_t width_ = 0, height_ = 0;
  Pixels pixels_;
  Box window_;
  uint32_t next_row_ = 0;
};

}  // namespace penstock::decode
