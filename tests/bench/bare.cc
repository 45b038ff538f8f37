#include "tests/bench/bare.h"

#include <algorithm>

#include "common/base/aligned_buffer.h"
#include "common/resample/taps.h"
#include "server/decode/core/placement.h"
#include "server/decode/jpeg/jpeg_errors.h"

namespace penstock::decode {
namespace {

using base::Fault;

constexpr uint32_t kBareMargin = 2;  // as in JpegReader

// Misaligns rows as the decoder does: vector-aligned rows are written past the cache, which is
// slower.
constexpr size_t kBareMisalignment = 4;

}  // namespace

struct BareDecoder::State {
  State() {
    info.err = errors.manager();
    jpeg_create_decompress(&info);
  }
  ~State() { jpeg_destroy_decompress(&info); }

  Fault Run(std::span<const std::byte> file, const Spec* spec, const DrawKey& key);
  void ReadHeader(std::span<const std::byte> file);
  Box WindowFor(const Spec& spec, const DrawKey& key);
  void ReadWindow(const Box& window);

  JpegErrors errors;
  jpeg_decompress_struct info{};
  resample::Taps x_taps;
  resample::Taps y_taps;
  base::AlignedBuffer row;
};

BareDecoder::BareDecoder() : state_(std::make_unique<State>()) {}
BareDecoder::~BareDecoder() = default;

Fault BareDecoder::DecodeCrop(std::span<const std::byte> file, const Spec& spec,
                              const DrawKey& key) {
  return state_->Run(file, &spec, key);
}

std::optional<BareDecoder::Grid> BareDecoder::GridOf(std::span<const std::byte> file,
                                                     const Spec& spec, const DrawKey& key) {
  Grid grid;
  jpeg_decompress_struct& info = state_->info;
  const bool ok = state_->errors.Guard([&] {
    state_->ReadHeader(file);
    const uint32_t x = state_->WindowFor(spec, key).x;
    jpeg_start_decompress(&info);
    const auto blocks = static_cast<uint32_t>(info.comps_in_scan == 1 ? 1 : info.max_h_samp_factor);
    grid = {.mcus = info.MCUs_per_row * info.MCU_rows_in_scan,
            .components = static_cast<uint32_t>(info.comps_in_scan),
            .first = (x - std::min(x, kBareMargin)) / (DCTSIZE * blocks),
            .per_row = info.MCUs_per_row};
  });
  jpeg_abort_decompress(&info);
  return ok ? std::optional<Grid>(grid) : std::nullopt;
}

Fault BareDecoder::DecodeWhole(std::span<const std::byte> file) {
  return state_->Run(file, nullptr, {});
}

Fault BareDecoder::State::Run(std::span<const std::byte> file, const Spec* spec,
                              const DrawKey& key) {
  if (!errors.Guard([&] { ReadHeader(file); })) {
    jpeg_abort_decompress(&info);
    return errors.fault();
  }
  const Box window = spec ? WindowFor(*spec, key) : Box{0, 0, info.image_width, info.image_height};
  row.Reserve(kBareMisalignment + size_t{3} * info.image_width);
  const bool ok = errors.Guard([&] { ReadWindow(window); });
  jpeg_abort_decompress(&info);
  return ok ? Fault::kNone : errors.fault();
}

void BareDecoder::State::ReadHeader(std::span<const std::byte> file) {
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&info, TRUE);
}

Box BareDecoder::State::WindowFor(const Spec& spec, const DrawKey& key) {
  const Placement placement = Place(spec, DrawFor(spec, key, info.image_width, info.image_height));
  if (spec.geometry == Geometry::kRandomResizedCrop) return placement.crop;
  x_taps.Compute(placement.x, placement.interpolation);
  y_taps.Compute(placement.y, placement.interpolation);
  return {placement.crop.x + x_taps.needed().first, placement.crop.y + y_taps.needed().first,
          x_taps.needed().count, y_taps.needed().count};
}

void BareDecoder::State::ReadWindow(const Box& window) {
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  JDIMENSION x = window.x - std::min(window.x, kBareMargin);
  JDIMENSION columns = std::min(window.x + window.width + kBareMargin, info.image_width) - x;
  jpeg_crop_scanline(&info, &x, &columns);
  if (window.y > 0) jpeg_skip_scanlines(&info, window.y);
  JSAMPROW rows = row.data() + kBareMisalignment;
  for (uint32_t i = 0; i < window.height; ++i) jpeg_read_scanlines(&info, &rows, 1);
}

}  // namespace penstock::decode
