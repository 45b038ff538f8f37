#include "server/decode/decoder.h"

#include <algorithm>
#include <new>
#include <vector>

#include "common/base/check.h"
#include "server/decode/core/exif.h"
#include "server/decode/core/kind.h"
#include "server/decode/core/placement.h"
#include "server/decode/gray.h"
#include "server/decode/jpeg/jpeg_reader.h"
#include "server/decode/oriented_reader.h"
#include "server/decode/png/png_reader.h"
#include "server/decode/raster/bmp_reader.h"
#include "server/decode/raster/gif_reader.h"
#include "server/decode/raster/netpbm_reader.h"
#include "server/decode/raster/webp_reader.h"
#include "server/decode/resample/aligned_buffer.h"
#include "server/decode/resample/resampler.h"
#include "server/decode/tiff/tiff_reader.h"

namespace penstock::decode {
namespace {

using base::Fault;

// libjpeg-turbo writes vector-aligned rows with non-temporal stores, which bypass the cache. The
// resampler reads the rows next and would have to wait for memory, so misalign them.
constexpr size_t kMisalignment = 4;
constexpr size_t kStrideMultiple = 64;

// The part of the image that the resampler needs.
Box WindowFor(const Placement& placement, const Resampler& resampler) {
  return {placement.crop.x + resampler.columns().first, placement.crop.y + resampler.rows().first,
          resampler.columns().count, resampler.rows().count};
}

}  // namespace

struct Decoder::State {
  explicit State(const SampleLimits& limits)
      : limits(limits), jpeg(limits.max_scans), resampler(BestKernels()) {}

  Fault ReadHeader(std::span<const std::byte> file, Exif exif);
  ImageReader* ReaderFor(Kind kind);
  Fault DecodeRow(const Spec& spec, const DrawKey& key, std::span<std::byte> row);
  Fault DecodeWindow(const Box& window, Color color);
  void PrepareStaging();

  const SampleLimits limits;
  JpegReader jpeg;
  PngReader png;
  WebpReader webp;
  GifReader gif;
  BmpReader bmp;
  NetpbmReader netpbm;
  TiffReader tiff;
  OrientedReader oriented;
  ImageReader* reader = nullptr;  // for the current file
  Resampler resampler;
  AlignedBuffer staging;
  uint8_t* rows[kRowsAtOnce];           // in staging, as written by the reader
  const uint8_t* columns[kRowsAtOnce];  // … starting at the first column that the resampler needs
  std::vector<uint8_t> gray_as_rgb;     // the row before it is reduced to one channel
};

Decoder::Decoder(const SampleLimits& limits) : state_(std::make_unique<State>(limits)) {}
Decoder::~Decoder() = default;

Fault Decoder::DecodeRow(std::span<const std::byte> file, const Spec& spec, const DrawKey& key,
                         std::span<std::byte> row) {
  PENSTOCK_CHECK(row.size() == RowBytes(spec));
  try {
    if (Fault fault = state_->ReadHeader(file, spec.exif); fault != Fault::kNone) return fault;
    return state_->DecodeRow(spec, key, row);
  } catch (const std::bad_alloc&) {
    return Fault::kTooManyPixels;  // exceeds the memory allowed for one sample
  }
}

std::optional<Decoder::Size> Decoder::ReadSize(std::span<const std::byte> file, const Spec& spec) {
  Size size;
  if (ReadHeader(file, spec.exif, &size) != Fault::kNone) return std::nullopt;
  return size;
}

Fault Decoder::ReadHeader(std::span<const std::byte> file, Exif exif, Size* size) {
  if (Fault fault = state_->ReadHeader(file, exif); fault != Fault::kNone) return fault;
  *size = {state_->reader->width(), state_->reader->height()};
  return Fault::kNone;
}

Fault Decoder::State::ReadHeader(std::span<const std::byte> file, Exif exif) {
  if (file.empty()) return Fault::kEmpty;
  if (file.size() > limits.max_bytes) return Fault::kTooManyBytes;
  const Kind kind = KindOf(file);
  if (kind == Kind::kUnknown) return Fault::kNotAnImage;
  reader = ReaderFor(kind);
  if (reader == nullptr) return Fault::kUnsupported;
  if (Fault fault = reader->ReadHeader(file); fault != Fault::kNone) return fault;
  const uint64_t pixels = uint64_t{reader->width()} * reader->height();
  if (pixels > limits.max_pixels) return Fault::kTooManyPixels;
  const bool own = kind == Kind::kTiff;  // always shown upright
  if (!own && exif == Exif::kIgnore) return Fault::kNone;
  const Orientation orientation =
      own ? tiff.orientation() : ReadOrientation(OrientationTag(FindExif(kind, file)));
  if (orientation.upright()) return Fault::kNone;
  if (own && exif == Exif::kApply) return Fault::kUnsupported;  // Pillow 9.4 turns it twice
  oriented.Set(*reader, orientation);
  reader = &oriented;
  return Fault::kNone;
}

ImageReader* Decoder::State::ReaderFor(Kind kind) {
  switch (kind) {
    case Kind::kJpeg:
      return &jpeg;
    case Kind::kPng:
      return &png;
    case Kind::kWebP:
      return &webp;
    case Kind::kGif:
      return &gif;
    case Kind::kBmp:
      return &bmp;
    case Kind::kNetpbm:
      return &netpbm;
    case Kind::kTiff:
      return &tiff;
    case Kind::kOtherImage:
    case Kind::kUnknown:
      break;
  }
  return nullptr;
}

// A gray row is resized as three equal channels and reduced to one at the end.
Fault Decoder::State::DecodeRow(const Spec& spec, const DrawKey& key, std::span<std::byte> row) {
  const Draw draw = DrawFor(spec, key, reader->width(), reader->height());
  const Placement placement = Place(spec, draw);
  auto* out = reinterpret_cast<uint8_t*>(row.data());
  if (spec.color == Color::kGray) gray_as_rgb.resize(3 * row.size());
  resampler.Begin(placement, spec.color == Color::kGray ? gray_as_rgb.data() : out);
  const Fault fault = DecodeWindow(WindowFor(placement, resampler), spec.color);
  if (fault == Fault::kNone && spec.color == Color::kGray) {
    TakeOneChannel(gray_as_rgb.data(), row.size(), out);
  }
  return fault;
}

Fault Decoder::State::DecodeWindow(const Box& window, Color color) {
  if (Fault fault = reader->Begin(window); fault != Fault::kNone) return fault;
  PrepareStaging();
  for (uint32_t done = 0; done < window.height; done += kRowsAtOnce) {
    const uint32_t count = std::min<uint32_t>(kRowsAtOnce, window.height - done);
    if (Fault fault = reader->ReadRows({rows, count}); fault != Fault::kNone) return fault;
    if (color == Color::kGray) {
      for (uint32_t i = 0; i < count; ++i) MakeGray(rows[i], reader->row_bytes() / 4);
    }
    resampler.Take(columns, count);
  }
  return reader->End();
}

void Decoder::State::PrepareStaging() {
  const size_t stride = RoundUp(kMisalignment + reader->row_bytes() + kSlackBytes, kStrideMultiple);
  staging.Reserve(kRowsAtOnce * stride);
  for (int i = 0; i < kRowsAtOnce; ++i) {
    rows[i] = staging.data() + i * stride + kMisalignment;
    columns[i] = rows[i] + reader->window_offset();
  }
}

}  // namespace penstock::decode
