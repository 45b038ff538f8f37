// Reads part of a JPEG file with JpegReader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/decode/jpeg/jpeg_reader.h"

namespace penstock::testing {

// Appends the window's RGBX pixels to `pixels`. **Requires**: the reader has read the header.
inline base::Fault ReadWindow(decode::JpegReader& reader, const decode::Box& window,
                              std::vector<uint8_t>& pixels) {
  using base::Fault;
  if (Fault fault = reader.Begin(window); fault != Fault::kNone) return fault;
  std::vector<uint8_t> row(reader.row_bytes());
  for (uint32_t y = 0; y < window.height; ++y) {
    uint8_t* const rows[] = {row.data()};
    if (Fault fault = reader.ReadRows(rows); fault != Fault::kNone) return fault;
    const auto first = row.begin() + static_cast<std::ptrdiff_t>(reader.window_offset());
    pixels.insert(pixels.end(), first, first + std::ptrdiff_t{4} * window.width);
  }
  return reader.End();
}

}  // namespace penstock::testing
