#include "server/decode/jpeg/jpeg_reader.h"

#include <algorithm>

#include "common/base/hash.h"

namespace penstock::decode {
namespace {

using base::Fault;

// Extra columns to decode on either side of the window. libjpeg's chroma upsampling treats the edge
// of the decoded area as the edge of the image. One column keeps that effect out of the window; the
// second is for images whose chroma is narrower than two columns.
constexpr uint32_t kMargin = 2;

// Number of coefficients that block smoothing of progressive files may estimate (libjpeg's
// SAVED_COEFS).
constexpr int kSmoothedCoefficients = 10;

bool HasFourInks(J_COLOR_SPACE space) { return space == JCS_CMYK || space == JCS_YCCK; }

bool IsSupported(J_COLOR_SPACE space) {
  return space == JCS_GRAYSCALE || space == JCS_YCbCr || space == JCS_RGB || HasFourInks(space);
}

// Converts CMYK to RGBX in place, like Pillow: every file is taken to be inverted, as Adobe's are,
// with or without Adobe's marker.
void MixInks(uint8_t* row, uint32_t pixels) {
  for (uint8_t* pixel = row; pixel != row + size_t{4} * pixels; pixel += 4) {
    for (int ink = 0; ink < 3; ++ink) {
      const uint32_t product = uint32_t{pixel[ink]} * pixel[3] + 128;
      // Division by 255, rounded.
      pixel[ink] = static_cast<uint8_t>(((product >> 8) + product) >> 8);
    }
  }
}

}  // namespace

// Creates a new decompressor for each file, which costs a microsecond. A reused one would keep the
// tables of earlier files, and use them for a damaged file that lacks its own.
Fault JpegReader::ReadHeader(std::span<const std::byte> file) {
  Close();
  file_ = file;
  open_ = true;
  if (!errors_.Guard([this] { Create(); })) return Failure();
  return IsSupported(info_.jpeg_color_space) ? Fault::kNone : Fault::kUnsupported;
}

void JpegReader::Create() {
  source_.Reset(file_);
  info_ = {};
  info_.err = errors_.manager();
  jpeg_create_decompress(&info_);
  info_.src = source_.manager();
  jpeg_read_header(&info_, TRUE);
}

Fault JpegReader::Begin(const Box& window) {
  window_ = window;
  rows_read_ = 0;
  started_over_ = false;
  scan_.reset();
  if (room_ != nullptr) file_sum_ = base::Hash(file_);
  if (!jpeg_has_multiple_scans(&info_)) scan_ = FindScan();
  judged_ = jpeg_has_multiple_scans(&info_) || scan_.has_value();
  discarded_.resize(size_t{4} * info_.image_width);
  if (!errors_.Guard([this] { Start(entropy_choice_); })) return Failure();
  // With several scans, all have been read by now.
  if (source_.exhausted()) return Fault::kTruncated;
  if (!errors_.Guard([this] { SkipToWindow(); }) && !StartOver()) return Failure();
  return Fault::kNone;
}

// What earlier checkpoints say of the same file need not be searched for again.
std::optional<std::span<const uint8_t>> JpegReader::FindScan() const {
  if (room_ != nullptr) {
    const auto known = Checkpoints::ReadKnown(room_->room.first(room_->bytes), file_sum_);
    if (known) return source_.ScanOf(known->bytes);
  }
  return source_.CompleteScan();
}

bool JpegReader::CheckWhole() {
  if (room_ != nullptr) {
    file_sum_ = base::Hash(file_);
    const auto known = Checkpoints::ReadKnown(room_->room.first(room_->bytes), file_sum_);
    if (known && known->is_whole) return Close(), true;
  }
  bool is_whole = ReadScan();
  if (!is_whole && uses_points_ && room_->bytes > 0) {  // perhaps the points are wrong
    *room_ = {.room = room_->room, .bytes = 0, .changed = true};
    jpeg_destroy_decompress(&info_);
    is_whole = errors_.Guard([this] { Create(); }) && ReadScan();
  }
  if (is_whole && uses_points_) {
    points_.NoteWhole();
    LeavePoints();
  }
  Close();
  return is_whole;
}

// Without making pixels, if that is possible.
bool JpegReader::ReadScan() {
  scan_.reset();
  if (!jpeg_has_multiple_scans(&info_)) scan_ = FindScan();
  if (!scan_ || !errors_.Guard([this] { Start(Entropy::kOwn); })) return false;
  if (entropy_.has_taken_over())
    return entropy_.ReadToEnd(info_.MCUs_per_row * info_.MCU_rows_in_scan);
  discarded_.resize(size_t{4} * info_.image_width);
  const bool is_read = errors_.Guard([this] {
    DiscardRows(info_.output_height);
    jpeg_finish_decompress(&info_);
  });
  return is_read && errors_.warnings() == 0 && !source_.exhausted();
}

// The cost of a single-scan file is known from its size. Each further scan costs as much as the
// whole image, so scans are counted.
void JpegReader::Start(Entropy entropy) {
  if (jpeg_has_multiple_scans(&info_)) {
    progress_.manager.progress_monitor = &CountScans;
    info_.progress = &progress_.manager;
  }
  info_.out_color_space = HasFourInks(info_.jpeg_color_space) ? JCS_CMYK : JCS_EXT_RGBX;
  info_.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&info_);
  entropy_.LetGo();
  uses_points_ = false;
  if (entropy == Entropy::kOwn && scan_ && EntropyDecoder::Knows(info_)) {
    entropy_.TakeOver(info_, *scan_);
    BeginPoints();
  }
}

void JpegReader::BeginPoints() {
  const auto components = static_cast<uint32_t>(info_.comps_in_scan);
  uses_points_ = room_ != nullptr && components <= Checkpoints::kMostComponents;
  if (!uses_points_) return;
  points_.Begin({.file_sum = file_sum_,
                 .bytes = scan_->size(),
                 .mcus = info_.MCUs_per_row * info_.MCU_rows_in_scan,
                 .components = components},
                room_->room.first(room_->bytes), room_->room.size());
  entropy_.UsePoints(&points_);
}

void JpegReader::LeavePoints() {
  if (!uses_points_ || !points_.has_more()) return;
  const size_t bytes = points_.Write(room_->room);
  if (bytes == 0) return;
  room_->bytes = bytes;
  room_->changed = true;
}

// When the entropy decoder gives up, libjpeg decodes the file again from the start. The rows that
// were already read are the same.
bool JpegReader::StartOver() {
  if (!entropy_.irregular()) return false;
  started_over_ = true;
  if (uses_points_) *room_ = {.room = room_->room, .bytes = 0, .changed = true};
  jpeg_destroy_decompress(&info_);
  return errors_.Guard([this] {
    Create();
    Start(Entropy::kLibjpeg);
    SkipToWindow();
    DiscardRows(rows_read_);
  });
}

void JpegReader::CountScans(j_common_ptr info) {
  const ScanCount* progress = reinterpret_cast<const ScanCount*>(info->progress);
  const int scan = reinterpret_cast<j_decompress_ptr>(info)->input_scan_number;
  if (static_cast<uint64_t>(scan) > progress->max_scans) {
    JpegErrors::GiveUp(info, Fault::kTooManyScans);
  }
}

void JpegReader::SkipToWindow() {
  if (NeedsWholeImage()) {
    window_offset_ = size_t{4} * window_.x;
    DiscardRows(window_.y);
    return;
  }
  JDIMENSION x = window_.x - std::min(window_.x, kMargin);
  JDIMENSION columns = std::min(window_.x + window_.width + kMargin, info_.image_width) - x;
  jpeg_crop_scanline(&info_, &x, &columns);  // moves x down to a block boundary
  if (entropy_.has_taken_over()) entropy_.KeepColumns(x, columns);
  window_offset_ = size_t{4} * (window_.x - x);
  if (window_.y > 0) jpeg_skip_scanlines(&info_, window_.y);
}

// Block smoothing reads two blocks away in every direction. A single-scan file without an end
// marker must be decoded whole to judge it.
bool JpegReader::NeedsWholeImage() const {
  if (!judged_) return true;
  if (info_.coef_bits == nullptr) return false;
  for (int component = 0; component < info_.num_components; ++component) {
    const int* bits = info_.coef_bits[component];
    if (std::any_of(bits, bits + kSmoothedCoefficients, [](int b) { return b != 0; })) return true;
  }
  return false;
}

void JpegReader::DiscardRows(uint32_t rows) {
  JSAMPROW row = discarded_.data();
  for (uint32_t i = 0; i < rows; ++i) jpeg_read_scanlines(&info_, &row, 1);
}

Fault JpegReader::ReadRows(std::span<uint8_t* const> rows) {
  const auto read = [this, rows] {
    for (uint8_t* row : rows) {
      JSAMPROW into = row;
      jpeg_read_scanlines(&info_, &into, 1);
    }
  };
  if (!errors_.Guard(read) && !(StartOver() && errors_.Guard(read))) return Failure();
  rows_read_ += static_cast<uint32_t>(rows.size());
  if (IsCmyk()) {
    for (uint8_t* row : rows) MixInks(row, info_.output_width);
  }
  return Fault::kNone;
}

Fault JpegReader::End() {
  LeavePoints();
  const Fault fault = judged_ ? Fault::kNone : JudgeRest();
  Close();
  return fault;
}

// Judges as Pillow does: the file is truncated if rows needed more data than it has. A missing end
// marker after the last row is accepted, an invalid marker there is not.
Fault JpegReader::JudgeRest() {
  if (!errors_.Guard([this] { DiscardRows(info_.output_height - info_.output_scanline); })) {
    return Failure();
  }
  if (source_.exhausted()) return Fault::kTruncated;
  if (errors_.Guard([this] { jpeg_finish_decompress(&info_); })) return Fault::kNone;
  return source_.exhausted() ? Fault::kNone : errors_.fault();
}

Fault JpegReader::Failure() {
  const Fault fault = source_.exhausted() ? Fault::kTruncated : errors_.fault();
  Close();
  return fault;
}

void JpegReader::Close() {
  if (open_) jpeg_destroy_decompress(&info_);
  open_ = false;
}

}  // namespace penstock::decode
