// Reads a WebP file's pixels: lossy or lossless, with or without alpha. Of an animation it reads
// the first frame, on a transparent black canvas. Like Pillow, it accepts only complete files and
// drops alpha.
//
// Memory: four bytes per pixel of the canvas; for lossless files the same again, within libwebp.
#pragma once

#include <webp/demux.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "server/decode/core/image_reader.h"
#include "server/decode/core/pixels.h"

namespace penstock::decode {

class WebpReader : public ImageReader {
 public:
  base::Fault ReadHeader(std::span<const std::byte> file) override;
  uint32_t width() const override { return width_; }
  uint32_t height() const override { return height_; }

  base::Fault Begin(const Box& window) override;
  size_t row_bytes() const override { return size_t{4} * window_.width; }
  size_t window_offset() const override { return 0; }
  base::Fault ReadRows(std::span<uint8_t* const> rows) override;
  base::Fault End() override;

 private:
  struct Delete {
    void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
  };

  std::unique_ptr<WebPDemuxer, Delete> demuxer_;  // refers to the file
  uint32_t width_ = 0, height_ = 0;               // of the canvas
  Pixels canvas_;
  Box window_;
  uint32_t next_row_ = 0;
};

}  // namespace penstock::decode
