#include "server/decode/raster/webp_reader.h"

#include <webp/decode.h>

#include <cstring>

namespace penstock::decode {
namespace {

using base::Fault;

Fault ToFault(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OK:
      return Fault::kNone;
    case VP8_STATUS_OUT_OF_MEMORY:
      return Fault::kTooManyPixels;
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return Fault::kUnsupported;
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return Fault::kTruncated;
    default:
      return Fault::kCorrupt;
  }
}

// The first frame, which Pillow shows too.
class Frame {
 public:
  explicit Frame(const WebPDemuxer* demuxer)
      : found_(WebPDemuxGetFrame(demuxer, 1, &frame_) != 0) {}
  ~Frame() { WebPDemuxReleaseIterator(&frame_); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  // Whether the frame exists and lies within the canvas.
  bool Fits(uint32_t width, uint32_t height) const {
    return found_ && FitsAlong(frame_.x_offset, frame_.width, width) &&
           FitsAlong(frame_.y_offset, frame_.height, height);
  }
  bool Covers(uint32_t width, uint32_t height) const {
    return static_cast<uint32_t>(frame_.width) == width &&
           static_cast<uint32_t>(frame_.height) == height;
  }
  Fault Decode(Pixels& canvas) const;

 private:
  static bool FitsAlong(int offset, int length, uint32_t side) {
    return offset >= 0 && length > 0 && int64_t{offset} + length <= int64_t{side};
  }

  WebPIterator frame_{};
  const bool found_;
};

Fault Frame::Decode(Pixels& canvas) const {
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) return Fault::kUnsupported;
  config.output.colorspace = MODE_RGBA;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba =
      canvas.row(static_cast<uint32_t>(frame_.y_offset)) + size_t{4} * frame_.x_offset;
  config.output.u.RGBA.stride = static_cast<int>(canvas.stride());
  // libwebp only checks the number of rows; the last one may end before its stride.
  config.output.u.RGBA.size = canvas.stride() * static_cast<size_t>(frame_.height);
  return ToFault(WebPDecode(frame_.fragment.bytes, frame_.fragment.size, &config));
}

}  // namespace

Fault WebpReader::ReadHeader(std::span<const std::byte> file) {
  const WebPData data = {reinterpret_cast<const uint8_t*>(file.data()), file.size()};
  WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
  demuxer_.reset(WebPDemuxPartial(&data, &state));
  if (state == WEBP_DEMUX_PARSE_ERROR) return Fault::kCorrupt;
  if (demuxer_ == nullptr || state != WEBP_DEMUX_DONE) return Fault::kTruncated;
  width_ = WebPDemuxGetI(demuxer_.get(), WEBP_FF_CANVAS_WIDTH);
  height_ = WebPDemuxGetI(demuxer_.get(), WEBP_FF_CANVAS_HEIGHT);
  return width_ > 0 && height_ > 0 ? Fault::kNone : Fault::kCorrupt;
}

Fault WebpReader::Begin(const Box& window) {
  window_ = window;
  next_row_ = 0;
  const Frame frame(demuxer_.get());
  if (!frame.Fits(width_, height_)) return Fault::kCorrupt;
  canvas_.Reset(width_, height_);
  if (!frame.Covers(width_, height_)) {
    std::memset(canvas_.row(0), 0, canvas_.stride() * height_);
  }
  return frame.Decode(canvas_);
}

Fault WebpReader::ReadRows(std::span<uint8_t* const> rows) {
  for (uint8_t* row : rows) {
    const uint8_t* from = canvas_.row(window_.y + next_row_++) + size_t{4} * window_.x;
    std::memcpy(row, from, row_bytes());
  }
  return Fault::kNone;
}

Fault WebpReader::End() {
  demuxer_.reset();
  canvas_.Release();
  return Fault::kNone;
}

}  // namespace penstock::decode
