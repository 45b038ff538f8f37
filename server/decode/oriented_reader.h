// Presents an image upright that is stored rotated or mirrored: keeps another reader's window and
// reads it in a different order.
//
// Memory: the window, in addition to the other reader's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "server/decode/core/exif.h"
#include "server/decode/core/image_reader.h"
#include "server/decode/core/pixels.h"

namespace penstock::decode {

class OrientedReader : public ImageReader {
 public:
  // Uses `stored` from the next ReadHeader on. **Requires**: `stored` outlives that use.
  void Set(ImageReader& stored, const Orientation& orientation);

  base::Fault ReadHeader(std::span<const std::byte> file) override;
  uint32_t width() const override;
  uint32_t height() const override;

  base::Fault Begin(const Box& window) override;
  size_t row_bytes() const override { return size_t{4} * window_.width; }
  size_t window_offset() const override { return 0; }
  base::Fault ReadRows(std::span<uint8_t* const> rows) override;
  base::Fault End() override;

 private:
  Box StoredBox(const Box& window) const;
  void CopyRow(uint32_t y, uint8_t* row);
  void GatherRows(uint32_t y, std::span<uint8_t* const> rows);

  ImageReader* stored_ = nullptr;
  Orientation orientation_;
  Box window_;
  Pixels pixels_;  // as stored
  std::vector<uint8_t> row_;
  uint32_t next_row_ = 0;
};

}  // namespace penstock::decode
