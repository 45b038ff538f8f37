// Reads an image file's pixels; one implementation per codec. For each file, call ReadHeader,
// Begin, ReadRows until the window is complete, then End. A fault ends the sequence; the next one
// begins with ReadHeader.
//
// Whether a file is accepted does not depend on the window. Any call may throw std::bad_alloc if
// the file needs more memory than is available.
//
// **Thread safety**: one thread. Implementations keep memory between files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/fault.h"
#include "server/decode/core/spec.h"

namespace penstock::decode {

class ImageReader {
 public:
  virtual ~ImageReader() = default;

  // Allocates nothing that grows with the image. **Requires**: `file` outlives the sequence.
  virtual base::Fault ReadHeader(std::span<const std::byte> file) = 0;
  virtual uint32_t width() const = 0;
  virtual uint32_t height() const = 0;

  // **Requires**: the window is not empty and lies within the image.
  virtual base::Fault Begin(const Box& window) = 0;

  // Size of a row that ReadRows writes, and the offset of the window in it.
  virtual size_t row_bytes() const = 0;
  virtual size_t window_offset() const = 0;

  // Reads the window's next rows as RGBX, four bytes per pixel (gray has R = G = B; X is
  // arbitrary).
  virtual base::Fault ReadRows(std::span<uint8_t* const> rows) = 0;

  virtual base::Fault End() = 0;
};

}  // namespace penstock::decode
