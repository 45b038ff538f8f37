#include "server/decode/oriented_reader.h"

#include <cstring>
#include <utility>

namespace penstock::decode {
namespace {

using base::Fault;

void CopyPixel(uint8_t* to, const uint8_t* from) { std::memcpy(to, from, 4); }

}  // namespace

void OrientedReader::Set(ImageReader& stored, const Orientation& orientation) {
  stored_ = &stored;
  orientation_ = orientation;
}

Fault OrientedReader::ReadHeader(std::span<const std::byte> file) {
  return stored_->ReadHeader(file);
}

uint32_t OrientedReader::width() const {
  return orientation_.exchange ? stored_->height() : stored_->width();
}

uint32_t OrientedReader::height() const {
  return orientation_.exchange ? stored_->width() : stored_->height();
}

// Where the window's pixels are in the stored image.
Box OrientedReader::StoredBox(const Box& window) const {
  Box box = window;
  if (orientation_.exchange) {
    std::swap(box.x, box.y);
    std::swap(box.width, box.height);
  }
  if (orientation_.mirror_columns) box.x = stored_->width() - box.x - box.width;
  if (orientation_.mirror_rows) box.y = stored_->height() - box.y - box.height;
  return box;
}

Fault OrientedReader::Begin(const Box& window) {
  window_ = window;
  next_row_ = 0;
  const Box box = StoredBox(window);
  if (Fault fault = stored_->Begin(box); fault != Fault::kNone) return fault;
  pixels_.Reset(box.width, box.height);
  row_.resize(stored_->row_bytes());
  uint8_t* const into = row_.data();
  for (uint32_t y = 0; y < box.height; ++y) {
    if (Fault fault = stored_->ReadRows({&into, 1}); fault != Fault::kNone) return fault;
    std::memcpy(pixels_.row(y), into + stored_->window_offset(), pixels_.stride());
  }
  return stored_->End();
}

Fault OrientedReader::ReadRows(std::span<uint8_t* const> rows) {
  if (orientation_.exchange) {
    GatherRows(next_row_, rows);
  } else {
    for (size_t i = 0; i < rows.size(); ++i) {
      CopyRow(next_row_ + static_cast<uint32_t>(i), rows[i]);
    }
  }
  next_row_ += static_cast<uint32_t>(rows.size());
  return Fault::kNone;
}

void OrientedReader::CopyRow(uint32_t y, uint8_t* row) {
  const uint8_t* from = pixels_.row(orientation_.mirror_rows ? window_.height - 1 - y : y);
  if (!orientation_.mirror_columns) {
    std::memcpy(row, from, row_bytes());
    return;
  }
  for (uint32_t x = 0; x < window_.width; ++x) {
    CopyPixel(row + size_t{4} * x, from + size_t{4} * (window_.width - 1 - x));
  }
}

// Rows are stored columns. Gathers all requested rows together, because their pixels share cache
// lines.
void OrientedReader::GatherRows(uint32_t y, std::span<uint8_t* const> rows) {
  for (uint32_t x = 0; x < window_.width; ++x) {
    const uint8_t* from = pixels_.row(orientation_.mirror_rows ? window_.width - 1 - x : x);
    for (uint32_t i = 0; i < rows.size(); ++i) {
      const uint32_t column = orientation_.mirror_columns ? window_.height - 1 - (y + i) : y + i;
      CopyPixel(rows[i] + size_t{4} * x, from + size_t{4} * column);
    }
  }
}

Fault OrientedReader::End() {
  pixels_.Release();
  return Fault::kNone;
}

}  // namespace penstock::decode
