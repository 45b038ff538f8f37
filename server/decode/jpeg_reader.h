// A JPEG file's pixels, decoded only where they are wanted, yet equal to those of a decoding of the
// whole. For one thread. Order of calls for a file: ReadHeader, Begin, ReadRows until the window
// has no more, End; a fault ends the sequence, and ReadHeader begins the next.
//
// The verdict on a file does not depend on the window: a file that ends too early is kTruncated
// even if the window lies before its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "server/decode/jpeg_errors.h"
#include "server/decode/jpeg_source.h"
#include "server/decode/spec.h"

namespace penstock::decode {

class JpegReader {
 public:
  JpegReader() = default;
  ~JpegReader() { Close(); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  // kUnsupported unless gray, YCbCr or RGB of 8 bits.
  base::Fault ReadHeader(std::span<const std::byte> file);
  uint32_t width() const { return info_.image_width; }
  uint32_t height() const { return info_.image_height; }

  // The window lies within the image and is not empty.
  base::Fault Begin(const Box& window);
  size_t row_bytes() const { return size_t{4} * info_.output_width; }  // what ReadRows writes a row
  size_t window_offset() const {
    return window_offset_;
  }  // in a row: the byte where the window begins

  // The window's next rows: RGBX, four bytes a pixel (gray is R = G = B; X is any value).
  base::Fault ReadRows(std::span<uint8_t* const> rows);

  base::Fault End();

 private:
  void Start();
  void SkipTo(const Box& window);
  bool NeedsWholeImage() const;
  void DiscardRows(uint32_t rows);
  base::Fault JudgeRest();
  base::Fault Failure();
  void Close();

  jpeg_decompress_struct info_{};
  JpegErrors errors_;
  JpegSource source_;
  bool open_ = false;
  bool judged_ =
      false;  // known to be complete, or all of it read: rows below the window are not needed
  size_t window_offset_ = 0;
  std::vector<uint8_t> discarded_;
};

}  // namespace penstock::decode
