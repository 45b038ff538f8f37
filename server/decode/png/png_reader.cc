#include "server/decode/png/png_reader.h"

#include <algorithm>
#include <cstring>

#include "server/decode/png/png_codec.h"
#include "server/decode/png/png_passes.h"
#include "server/decode/png/png_rows.h"

namespace penstock::decode {
namespace {

// Writes the pixels that lie in the window.
class Painter : public PngSink {
 public:
  Painter(const PngHeader& header, const Box& window, Pixels& pixels)
      : header_(header),
        window_(window),
        pixels_(pixels),
        rows_(header),
        rows_left_(PngRowCount(header)) {}

  void TakePalette(const uint8_t* entries, uint32_t count) override {
    if (header_.color == PngHeader::kPalette) rows_.SetPalette(entries, count);
  }

  void TakeRow(const uint8_t* samples, int pass_number, uint32_t row) override {
    if (rows_left_ > 0) --rows_left_;
    const PngPass& pass = PngPassOf(header_, pass_number);
    const uint32_t y = pass.y0 + pass.dy * row;
    if (y < window_.y || y - window_.y >= window_.height) return;
    const uint32_t first = CountBelow(window_.x, pass.x0, pass.dx);
    const uint32_t end = CountBelow(window_.x + window_.width, pass.x0, pass.dx);
    if (first >= end) return;
    const uint32_t x = pass.x0 + pass.dx * first - window_.x;
    rows_.Convert(samples + first * rows_.pixel_bytes(), end - first, pass.dx,
                  pixels_.row(y - window_.y) + size_t{4} * x);
  }

  bool complete() const override { return rows_left_ == 0; }

 private:
  const PngHeader& header_;
  const Box& window_;
  Pixels& pixels_;
  PngRows rows_;
  uint64_t rows_left_;  // over all passes
};

}  // namespace

base::Fault PngReader::ReadHeader(std::span<const std::byte> file) {
  file_ = file;
  return ParsePngHeader(file, header_);
}

base::Fault PngReader::Begin(const Box& window) {
  pixels_.Reset(window.width, window.height);
  next_row_ = 0;
  Painter painter(header_, window, pixels_);
  const base::Fault fault = DecodePng(file_, painter);
  if (fault == base::Fault::kNone && PngIsCutBehindData(file_)) return base::Fault::kTruncated;
  return fault;
}

base::Fault PngReader::ReadRows(std::span<uint8_t* const> rows) {
  for (uint8_t* row : rows) std::memcpy(row, pixels_.row(next_row_++), pixels_.stride());
  return base::Fault::kNone;
}

base::Fault PngReader::End() {
  pixels_.Release();
  return base::Fault::kNone;
}

}  // namespace penstock::decode
