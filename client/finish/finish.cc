#include "client/finish/finish.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "client/finish/checks.h"
#include "client/finish/kernels.h"

namespace penstock::finish {
namespace {

// Pixels that are split at once: a few KiB, so that they stay in the L1 cache.
constexpr size_t kTilePixels = 1024;

// Splits one image into uint8 planes, directly in the output.
void SplitImage(const Kernels& kernels, const uint8_t* pixels, size_t count, uint32_t channels,
                std::byte* out) {
  uint8_t* planes[kMaxChannels];
  for (uint32_t c = 0; c < channels; ++c) planes[c] = reinterpret_cast<uint8_t*>(out) + c * count;
  kernels.split(pixels, count, channels, planes);
}

// Converts one image to planes of floats, tile by tile: splits a tile, then converts it.
void FinishImage(const Kernels& kernels, const Converter& converter, size_t element_bytes,
                 const uint8_t* pixels, size_t count, uint32_t channels, std::byte* out) {
  uint8_t tiles[kMaxChannels * kTilePixels];
  uint8_t* planes[kMaxChannels];
  for (uint32_t c = 0; c < channels; ++c) planes[c] = tiles + c * kTilePixels;
  for (size_t done = 0; done < count; done += kTilePixels) {
    const size_t here = std::min(kTilePixels, count - done);
    kernels.split(pixels + done * channels, here, channels, planes);
    for (uint32_t c = 0; c < channels; ++c) {
      converter.Convert(c, planes[c], here, out + (c * count + done) * element_bytes);
    }
  }
}

void FinishInterleaved(const Kernels& kernels, const Spec& spec, std::span<const uint8_t> rows,
                       std::byte* out) {
  if (spec.type == Type::kUInt8) {
    std::memcpy(out, rows.data(), rows.size());
    return;
  }
  const Coefficients all = {spec.mean, spec.stddev};
  const size_t output_bytes = rows.size() * ElementBytes(spec.type);
  kernels.prepare(spec.type, {&all, 1}, output_bytes)->Convert(0, rows.data(), rows.size(), out);
}

void FinishPlanes(const Kernels& kernels, const Spec& spec, const Shape& shape,
                  std::span<const uint8_t> rows, std::byte* out) {
  std::unique_ptr<Converter> converter;
  if (spec.type != Type::kUInt8) {
    std::vector<Coefficients> channels;
    for (uint32_t c = 0; c < shape.channels; ++c) {
      channels.push_back({spec.mean.subspan(c, 1), spec.stddev.subspan(c, 1)});
    }
    converter = kernels.prepare(spec.type, channels, rows.size() * ElementBytes(spec.type));
  }
  const size_t pixels = size_t{shape.height} * shape.width;
  const size_t element_bytes = ElementBytes(spec.type);
  for (size_t row = 0; row < shape.rows; ++row) {
    const size_t first = row * pixels * shape.channels;
    std::byte* image = out + first * element_bytes;
    if (converter == nullptr) {
      SplitImage(kernels, rows.data() + first, pixels, shape.channels, image);
    } else {
      FinishImage(kernels, *converter, element_bytes, rows.data() + first, pixels, shape.channels,
                  image);
    }
  }
}

}  // namespace

std::vector<Variant> SupportedVariants() {
  std::vector<Variant> variants = {Variant::kPortable};
  if (HasAvx2()) variants.push_back(Variant::kAvx2);
  return variants;
}

absl::Status Apply(const Spec& spec, const Shape& shape, std::span<const uint8_t> rows,
                   std::span<std::byte> into) {
  static const Variant best = SupportedVariants().back();
  return Apply(spec, shape, rows, into, best);
}

absl::Status Apply(const Spec& spec, const Shape& shape, std::span<const uint8_t> rows,
                   std::span<std::byte> into, Variant variant) {
  PENSTOCK_RETURN_IF_ERROR(CheckSizes(spec, shape, rows.size(), into.size()));
  PENSTOCK_RETURN_IF_ERROR(CheckCoefficients(spec, shape.channels));
  if (rows.empty()) return absl::OkStatus();
  const Kernels& kernels = KernelsOf(variant);
  if (spec.layout == Layout::kNCHW && shape.channels > 1) {
    FinishPlanes(kernels, spec, shape, rows, into.data());
  } else {
    FinishInterleaved(kernels, spec, rows, into.data());
  }
  return absl::OkStatus();
}

}  // namespace penstock::finish
