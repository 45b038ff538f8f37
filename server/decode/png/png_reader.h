// Reads a PNG file's pixels. Decodes the whole file, because any part of it may be faulty, and
// discards what lies outside of the window.
//
// Memory: the window and two rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "server/decode/core/image_reader.h"
#include "server/decode/core/pixels.h"
#include "server/decode/png/png_header.h"

namespace penstock::decode {

class PngReader : public ImageReader {
 public:
  base::Fault ReadHeader(std::span<const std::byte> file) override;
  uint32_t width() const override { return header_.width; }
  uint32_t height() const override { return header_.height; }

  base::Fault Begin(const Box& window) override;
  size_t row_bytes() const override { return pixels_.stride(); }
  size_t window_offset() const override { return 0; }
  base::Fault ReadRows(std::span<uint8_t* const> rows) override;
  base::Fault End() override;

 private:
  std::span<const std::byte> file_;
  PngHeader header_;
  Pixels pixels_;  // the window
  uint32_t next_row_ = 0;
};

}  // namespace penstock::decode
