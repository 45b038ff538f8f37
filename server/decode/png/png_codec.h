// Wraps libpng: reads a PNG file and delivers the rows of its passes. For damaged files it decodes
// as much as Pillow does: it ignores bad CRCs in the image data, unknown critical chunks, and
// anything after the last row.
//
// Memory: two rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/fault.h"

namespace penstock::decode {

// Receives what libpng reads. Its functions must not throw or own anything that needs a destructor,
// because libpng may longjmp past them.
class PngSink {
 public:
  virtual ~PngSink() = default;
  virtual void TakePalette(const uint8_t* entries, uint32_t count) = 0;  // three bytes each
  // One row of a pass (0 if not interlaced), with at least one byte per sample.
  virtual void TakeRow(const uint8_t* samples, int pass, uint32_t row) = 0;
  // Whether the last row has been delivered.
  virtual bool complete() const = 0;
};

base::Fault DecodePng(std::span<const std::byte> file, PngSink& sink);

}  // namespace penstock::decode
