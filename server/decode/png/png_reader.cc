#include "server/decode/png/png_reader.h"

#include <algorithm>
#include <cstring>

#include "server/decode/png/png_codec.h"
#include "server/decode/png/png_rows.h"

namespace penstock::decode {
namespace {

// A pass contains the pixels at (x0 + i · dx, y0 + j · dy).
struct Pass {
  uint32_t x0, y0, dx, dy;
};
constexpr Pass kWhole = {0, 0, 1, 1};
constexpr Pass kAdam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                           {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};

// How many of x0, x0 + dx, … are below `end`.
uint32_t CountBelow(uint32_t end, uint32_t x0, uint32_t dx) {
  return end <= x0 ? 0 : (end - x0 - 1) / dx + 1;
}

// Writes the pixels that lie in the window.
class Painter : public PngSink {
 public:
  Painter(const PngHeader& header, const Box& window, Pixels& pixels)
      : header_(header), window_(window), pixels_(pixels), rows_(header) {
    if (!header.interlaced) rows_left_ = header.height;
    for (const Pass& pass : kAdam7) {
      if (header.interlaced && CountBelow(header.width, pass.x0, pass.dx) > 0) {
        rows_left_ += CountBelow(header.height, pass.y0, pass.dy);
      }
    }
  }

  void TakePalette(const uint8_t* entries, uint32_t count) override {
    if (header_.color == PngHeader::kPalette) rows_.SetPalette(entries, count);
  }

  void TakeRow(const uint8_t* samples, int pass_number, uint32_t row) override {
    if (rows_left_ > 0) --rows_left_;
    const Pass& pass = header_.interlaced ? kAdam7[pass_number] : kWhole;
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
  uint64_t rows_left_ = 0;  // over all passes
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
