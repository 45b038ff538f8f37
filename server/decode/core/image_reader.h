// An image file's pixels, as the decoder takes them, whatever the codec behind. For one thread;
// implementations keep memory between files. Order of calls for a file: ReadHeader, Begin, ReadRows
// until the window has no more, End; a fault ends the sequence, and ReadHeader begins the next.
//
// The verdict on a file does not depend on the window. std::bad_alloc may come out of any call: the
// file needs more memory than there is.
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

  // Allocates nothing that grows with the image. `file` outlives the sequence.
  virtual base::Fault ReadHeader(std::span<const std::byte> file) = 0;
  virtual uint32_t width() const = 0;
  virtual uint32_t height() const = 0;

  // The window lies within the image and is not empty.
  virtual base::Fault Begin(const Box& window) = 0;

  // What ReadRows writes a row, and where in it the window begins.
  virtual size_t row_bytes() const = 0;
  virtual size_t window_offset() const = 0;

  // The window's next rows: RGBX, four bytes a pixel (gray is R = G = B; X is any value).
  virtual base::Fault ReadRows(std::span<uint8_t* const> rows) = 0;

  virtual base::Fault End() = 0;
};

}  // namespace penstock::decode
