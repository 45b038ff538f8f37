// A JPEG file's pixels, decoded only where they are wanted, yet equal to those of a decoding of the
// whole. A file that ends too early is kTruncated even if the window lies before its end.
//
// Memory: a few rows; the coefficients of the whole image where it comes in several scans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "server/decode/image_reader.h"
#include "server/decode/jpeg_errors.h"
#include "server/decode/jpeg_source.h"
#include "server/decode/spec.h"

namespace penstock::decode {

class JpegReader : public ImageReader {
 public:
  explicit JpegReader(uint64_t max_scans) : progress_{.manager = {}, .max_scans = max_scans} {}
  ~JpegReader() override { Close(); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  // kUnsupported unless gray, YCbCr, RGB, CMYK or YCCK, of 8 bits.
  base::Fault ReadHeader(std::span<const std::byte> file) override;
  uint32_t width() const override { return info_.image_width; }
  uint32_t height() const override { return info_.image_height; }

  base::Fault Begin(const Box& window) override;
  size_t row_bytes() const override { return size_t{4} * info_.output_width; }
  size_t window_offset() const override { return window_offset_; }
  base::Fault ReadRows(std::span<uint8_t* const> rows) override;
  base::Fault End() override;

 private:
  struct Progress {
    jpeg_progress_mgr manager;  // first: libjpeg's pointer to it is a pointer to Progress
    uint64_t max_scans;
  };
  static void CountScans(j_common_ptr info);

  void Start();
  void SkipTo(const Box& window);
  bool IsCmyk() const { return info_.out_color_space == JCS_CMYK; }
  bool NeedsWholeImage() const;
  void DiscardRows(uint32_t rows);
  base::Fault JudgeRest();
  base::Fault Failure();
  void Close();

  jpeg_decompress_struct info_{};
  JpegErrors errors_;
  JpegSource source_;
  Progress progress_;
  bool open_ = false;
  // Known to be complete, or all of it read: rows below the window are not needed.
  bool judged_ = false;
  size_t window_offset_ = 0;
  std::vector<uint8_t> discarded_;
};

}  // namespace penstock::decode
