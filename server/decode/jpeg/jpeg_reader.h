// Decodes only the needed part of a JPEG, with the same pixels as a full decode. A file that ends
// too early is kTruncated even if the window ends before the cut.
//
// Memory: a few rows; for files with several scans, the coefficients of the whole image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "server/decode/core/checkpoint_room.h"
#include "server/decode/core/image_reader.h"
#include "server/decode/core/spec.h"
#include "server/decode/jpeg/checkpoints.h"
#include "server/decode/jpeg/jpeg_errors.h"
#include "server/decode/jpeg/jpeg_source.h"
#ifdef PENSTOCK_LIBJPEG_ALONE
#include "server/decode/jpeg/entropy_decoder_absent.h"
#else
#include "server/decode/jpeg/entropy_decoder.h"
#endif

namespace penstock::decode {

// Which decoder handles the Huffman codes of files that EntropyDecoder supports. The pixels are the
// same. In builds with PENSTOCK_LIBJPEG_ALONE it supports none.
enum class Entropy { kOwn, kLibjpeg };

class JpegReader : public ImageReader {
 public:
  explicit JpegReader(uint64_t max_scans, Entropy entropy = Entropy::kOwn)
      : entropy_choice_(entropy), progress_{.manager = {}, .max_scans = max_scans} {}
  ~JpegReader() override { Close(); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  // Where checkpoints of the next files are, and are to be left; null: nowhere.
  void UseCheckpoints(CheckpointRoom* room) { room_ = room; }

  // kUnsupported unless the image is gray, YCbCr, RGB, CMYK or YCCK with 8 bits.
  base::Fault ReadHeader(std::span<const std::byte> file) override;
  uint32_t width() const override { return info_.image_width; }
  uint32_t height() const override { return info_.image_height; }

  base::Fault Begin(const Box& window) override;
  size_t row_bytes() const override { return size_t{4} * info_.output_width; }
  size_t window_offset() const override { return window_offset_; }
  base::Fault ReadRows(std::span<uint8_t* const> rows) override;
  base::Fault End() override;

  // Whether the file is one baseline scan that has all its MCUs and follows the standard from its
  // first bit to its last: every decoder then gives about the same image, none shows anything else.
  // Checkpoints remember it. Reads the scan at most once, but makes no pixels. Afterwards, nothing
  // is open. **Requires**: ReadHeader has succeeded. Builds with PENSTOCK_LIBJPEG_ALONE decode the
  // file for it, each time.
  bool CheckWhole();

  // Whether the current or last file was read again by libjpeg alone.
  bool started_over() const { return started_over_; }

 private:
  struct ScanCount {
    // First member, because libjpeg's pointer to it is cast to ScanCount*.
    jpeg_progress_mgr manager;
    uint64_t max_scans;
  };
  static void CountScans(j_common_ptr info);

  void Create();
  void Start(Entropy entropy);
  bool ReadScan();
  std::optional<std::span<const uint8_t>> FindScan() const;
  void BeginPoints();
  void LeavePoints();
  void SkipToWindow();
  bool StartOver();
  bool IsCmyk() const { return info_.out_color_space == JCS_CMYK; }
  bool NeedsWholeImage() const;
  void DiscardRows(uint32_t rows);
  base::Fault JudgeRest();
  base::Fault Failure();
  void Close();

  const Entropy entropy_choice_;
  jpeg_decompress_struct info_{};
  JpegErrors errors_;
  JpegSource source_;
  EntropyDecoder entropy_;
  CheckpointRoom* room_ = nullptr;
  Checkpoints points_;
  bool uses_points_ = false;
  uint64_t file_sum_ = 0;  // if there is a room
  ScanCount progress_;
  bool open_ = false;
  std::span<const std::byte> file_;
  std::optional<std::span<const uint8_t>> scan_;  // the only scan, if it is complete
  Box window_{};
  uint32_t rows_read_ = 0;  // within the window
  bool started_over_ = false;
  // The file is complete, or has been read to the end; rows below the window are not needed.
  bool judged_ = false;
  size_t window_offset_ = 0;
  std::vector<uint8_t> discarded_;
};

}  // namespace penstock::decode
