#include "server/decode/mask.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "server/decode/png/png_codec.h"
#include "server/decode/png/png_header.h"
#include "server/decode/png/png_passes.h"

namespace penstock::decode {
namespace {

using base::Fault;

// Pillow's values for samples of less than eight bits.
std::array<uint8_t, 256> ValuesOf(const PngHeader& header) {
  std::array<uint8_t, 256> values{};
  const uint32_t most = (1u << header.depth) - 1;
  const bool scaled = header.color == PngHeader::kGray && (header.depth == 2 || header.depth == 4);
  for (uint32_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<uint8_t>(scaled ? std::min(i, most) * 255 / most : i);
  }
  return values;
}

class MaskPainter : public PngSink {
 public:
  MaskPainter(const PngHeader& header, const augment::ImageView& mask)
      : header_(header), mask_(mask), values_(ValuesOf(header)), rows_left_(PngRowCount(header)) {}

  void TakePalette(const uint8_t*, uint32_t) override {}

  void TakeRow(const uint8_t* samples, int pass_number, uint32_t row) override {
    if (rows_left_ > 0) --rows_left_;
    const PngPass& pass = PngPassOf(header_, pass_number);
    const uint32_t y = pass.y0 + pass.dy * row;
    if (y >= mask_.height) return;
    uint8_t* const to = mask_.row(y);
    for (uint32_t x = pass.x0, i = 0; x < mask_.width; x += pass.dx, ++i)
      to[x] = values_[samples[i]];
  }

  bool complete() const override { return rows_left_ == 0; }

 private:
  const PngHeader& header_;
  const augment::ImageView mask_;
  const std::array<uint8_t, 256> values_;
  uint64_t rows_left_;  // over all passes
};

}  // namespace

Fault ReadMask(std::span<const std::byte> file, const augment::ImageView& mask) {
  PngHeader header;
  if (ParsePngHeader(file, header) != Fault::kNone) return Fault::kMalformed;
  if (header.width != mask.width || header.height != mask.height) return Fault::kMalformed;
  const bool is_flat = header.color == PngHeader::kGray || header.color == PngHeader::kPalette;
  if (!is_flat || header.depth > 8) return Fault::kMalformed;
  std::memset(mask.data, 0, mask.bytes());
  MaskPainter painter(header, mask);
  const bool whole = DecodePng(file, painter) == Fault::kNone && !PngIsCutBehindData(file);
  return whole ? Fault::kNone : Fault::kMalformed;
}

}  // namespace penstock::decode
