#include "server/decode/decoder.h"

#include <algorithm>
#include <vector>

#include "common/base/check.h"
#include "server/decode/jpeg_reader.h"
#include "server/decode/kind.h"
#include "server/decode/placement.h"
#include "server/decode/resampler.h"

namespace penstock::decode {
namespace {

using base::Fault;

Fault CheckFile(std::span<const std::byte> file, const Limits& limits) {
  if (file.empty()) return Fault::kEmpty;
  if (file.size() > limits.max_bytes) return Fault::kTooManyBytes;
  switch (KindOf(file)) {
    case Kind::kJpeg:
      return Fault::kNone;
    case Kind::kOtherImage:
      return Fault::kUnsupported;
    case Kind::kUnknown:
      return Fault::kNotAnImage;
  }
  return Fault::kNotAnImage;
}

// The part of the image that the resampler needs.
Box WindowFor(const Placement& placement, const Resampler& resampler) {
  return {placement.crop.x + resampler.columns().first, placement.crop.y + resampler.rows().first,
          resampler.columns().count, resampler.rows().count};
}

}  // namespace

struct Decoder::State {
  explicit State(const Limits& limits) : limits(limits), resampler(BestKernels()) {}

  Fault DecodeWindow(const Box& window);

  const Limits limits;
  JpegReader reader;
  Resampler resampler;
  std::vector<uint8_t> staging;  // kRowsAtOnce rows as the reader gives them
};

Decoder::Decoder(const Limits& limits) : state_(std::make_unique<State>(limits)) {}
Decoder::~Decoder() = default;

Fault Decoder::DecodeRow(std::span<const std::byte> file, const Spec& spec, const DrawKey& key,
                         std::span<std::byte> row) {
  PENSTOCK_CHECK(row.size() == RowBytes(spec));
  if (Fault fault = CheckFile(file, state_->limits); fault != Fault::kNone) return fault;
  JpegReader& reader = state_->reader;
  if (Fault fault = reader.ReadHeader(file); fault != Fault::kNone) return fault;
  if (uint64_t{reader.width()} * reader.height() > state_->limits.max_pixels) {
    return Fault::kTooManyPixels;
  }
  const Draw draw = DrawFor(spec, key, reader.width(), reader.height());
  const Placement placement = Place(spec, draw);
  state_->resampler.Begin(placement, reinterpret_cast<uint8_t*>(row.data()));
  return state_->DecodeWindow(WindowFor(placement, state_->resampler));
}

Fault Decoder::State::DecodeWindow(const Box& window) {
  if (Fault fault = reader.Begin(window); fault != Fault::kNone) return fault;
  const size_t stride = reader.row_bytes() + kSlackBytes;
  if (staging.size() < kRowsAtOnce * stride) staging.resize(kRowsAtOnce * stride);
  const uint8_t* rows[kRowsAtOnce];
  for (int i = 0; i < kRowsAtOnce; ++i) rows[i] = &staging[i * stride + reader.window_offset()];
  for (uint32_t done = 0; done < window.height; done += kRowsAtOnce) {
    const uint32_t count = std::min<uint32_t>(kRowsAtOnce, window.height - done);
    for (uint32_t i = 0; i < count; ++i) {
      if (Fault fault = reader.ReadRow(&staging[i * stride]); fault != Fault::kNone) return fault;
    }
    resampler.Take(rows, count);
  }
  return reader.End();
}

}  // namespace penstock::decode
