#include "server/decode/raster/whole_reader.h"

#include <cstring>

namespace penstock::decode {

using base::Fault;

Fault WholeReader::ReadHeader(std::span<const std::byte> file) {
  file_ = file;
  SetSize(0, 0);
  if (const Fault fault = ParseHeader(file); fault != Fault::kNone) return fault;
  return width_ > 0 && height_ > 0 ? Fault::kNone : Fault::kCorrupt;
}

Fault WholeReader::Begin(const Box& window) {
  SetWindow(window);
  pixels_.Reset(width_, height_);
  return Decode(file_, pixels_);
}

Fault WholeReader::ReadRows(std::span<uint8_t* const> rows) {
  for (uint8_t* row : rows) {
    const uint8_t* from = pixels_.row(NextRow()) + size_t{4} * window_.x;
    std::memcpy(row, from, row_bytes());
  }
  return Fault::kNone;
}

Fault WholeReader::End() {
  file_ = {};
  pixels_.Release();
  return Fault::kNone;
}

}  // namespace penstock::decode
