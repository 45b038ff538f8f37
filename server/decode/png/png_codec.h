// libpng, kept in one place: a PNG file → the rows of samples of its passes. It decodes as much as
// Pillow does of a damaged file: bad sums in the image's data, unknown critical chunks, and
// whatever lies behind the last row are no faults.
//
// Memory: two rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/fault.h"

namespace penstock::decode {

// What happens to what libpng finds. Its calls must not throw, nor own anything that needs a
// destructor: libpng may jump past them.
class PngSink {
 public:
  virtual ~PngSink() = default;
  virtual void TakePalette(const uint8_t* entries, uint32_t count) = 0;  // three bytes each
  // A row of one pass (0 when not interlaced), with a byte at least a sample.
  virtual void TakeRow(const uint8_t* samples, int pass, uint32_t row) = 0;
  // The last row has come.
  virtual bool complete() const = 0;
};

base::Fault DecodePng(std::span<const std::byte> file, PngSink& sink);

}  // namespace penstock::decode
