#include "server/decode/decoder.h"

#include <algorithm>
#include <new>

#include "common/base/check.h"
#include "server/decode/aligned_buffer.h"
#include "server/decode/jpeg_reader.h"
#include "server/decode/kind.h"
#include "server/decode/placement.h"
#include "server/decode/png_reader.h"
#include "server/decode/resampler.h"
#include "server/decode/webp_reader.h"

namespace penstock::decode {
namespace {

using base::Fault;

// libjpeg-turbo writes rows that are aligned to a vector past the cache; the resampler, which reads
// them next, would wait for memory.
constexpr size_t kMisalignment = 4;
constexpr size_t kStrideMultiple = 64;

// The part of the image that the resampler needs.
Box WindowFor(const Placement& placement, const Resampler& resampler) {
  return {placement.crop.x + resampler.columns().first, placement.crop.y + resampler.rows().first,
          resampler.columns().count, resampler.rows().count};
}

}  // namespace

struct Decoder::State {
  explicit State(const Limits& limits)
      : limits(limits), jpeg(limits.max_scans), resampler(BestKernels()) {}

  Fault ReadHeader(std::span<const std::byte> file);
  Fault ChooseReader(std::span<const std::byte> file);
  Fault DecodeRow(const Spec& spec, const DrawKey& key, std::span<std::byte> row);
  Fault DecodeWindow(const Box& window);
  void PrepareStaging();

  const Limits limits;
  JpegReader jpeg;
  PngReader png;
  WebpReader webp;
  ImageReader* reader = nullptr;  // the one of the file in hand
  Resampler resampler;
  AlignedBuffer staging;
  uint8_t* rows[kRowsAtOnce];           // in staging, as the reader gives them
  const uint8_t* columns[kRowsAtOnce];  // … from the first column that the resampler wants
};

Decoder::Decoder(const Limits& limits) : state_(std::make_unique<State>(limits)) {}
Decoder::~Decoder() = default;

Fault Decoder::DecodeRow(std::span<const std::byte> file, const Spec& spec, const DrawKey& key,
                         std::span<std::byte> row) {
  PENSTOCK_CHECK(row.size() == RowBytes(spec));
  try {
    if (Fault fault = state_->ReadHeader(file); fault != Fault::kNone) return fault;
    return state_->DecodeRow(spec, key, row);
  } catch (const std::bad_alloc&) {
    return Fault::kTooManyPixels;  // it does not fit the memory that one sample may take
  }
}

std::optional<Decoder::Size> Decoder::SizeOf(std::span<const std::byte> file, const Spec&) {
  if (state_->ReadHeader(file) != Fault::kNone) return std::nullopt;
  return Size{state_->reader->width(), state_->reader->height()};
}

Fault Decoder::State::ReadHeader(std::span<const std::byte> file) {
  if (file.empty()) return Fault::kEmpty;
  if (file.size() > limits.max_bytes) return Fault::kTooManyBytes;
  if (Fault fault = ChooseReader(file); fault != Fault::kNone) return fault;
  if (Fault fault = reader->ReadHeader(file); fault != Fault::kNone) return fault;
  const uint64_t pixels = uint64_t{reader->width()} * reader->height();
  return pixels > limits.max_pixels ? Fault::kTooManyPixels : Fault::kNone;
}

Fault Decoder::State::ChooseReader(std::span<const std::byte> file) {
  switch (KindOf(file)) {
    case Kind::kJpeg:
      reader = &jpeg;
      return Fault::kNone;
    case Kind::kPng:
      reader = &png;
      return Fault::kNone;
    case Kind::kWebP:
      reader = &webp;
      return Fault::kNone;
    case Kind::kOtherImage:
      return Fault::kUnsupported;
    case Kind::kUnknown:
      return Fault::kNotAnImage;
  }
  return Fault::kNotAnImage;
}

Fault Decoder::State::DecodeRow(const Spec& spec, const DrawKey& key, std::span<std::byte> row) {
  const Draw draw = DrawFor(spec, key, reader->width(), reader->height());
  const Placement placement = Place(spec, draw);
  resampler.Begin(placement, reinterpret_cast<uint8_t*>(row.data()));
  return DecodeWindow(WindowFor(placement, resampler));
}

Fault Decoder::State::DecodeWindow(const Box& window) {
  if (Fault fault = reader->Begin(window); fault != Fault::kNone) return fault;
  PrepareStaging();
  for (uint32_t done = 0; done < window.height; done += kRowsAtOnce) {
    const uint32_t count = std::min<uint32_t>(kRowsAtOnce, window.height - done);
    if (Fault fault = reader->ReadRows({rows, count}); fault != Fault::kNone) return fault;
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
