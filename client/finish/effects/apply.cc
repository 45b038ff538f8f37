// The effects on the CPU. Erased boxes and CutMix overwrite a part of the finish's output; MixUp
// converts and blends tile by tile.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "client/finish/checks.h"
#include "client/finish/effects/effects.h"
#include "client/finish/effects/noise.h"
#include "client/finish/half.h"
#include "client/finish/kernels.h"

namespace penstock::finish {
namespace {

// Values of a tile: few enough that two tiles of floats stay in the L1 cache beside the output.
constexpr size_t kTileValues = 768;

// Consecutive pixels of an image, and where their values are, in elements.
struct Run {
  size_t first = 0, count = 0;
  size_t pixel_step = 1, channel_step = 1;
};

// Calls visit(begin, end) for each line of the box that the run has a part of, with pixels counted
// from the run's first one.
template <typename Visit>
void ForLines(const PixelBox& box, size_t width, const Run& run, const Visit& visit) {
  if (box.width == 0) return;
  for (size_t y = box.y; y < size_t{box.y} + box.height; ++y) {
    const size_t begin = std::max(y * width + box.x, run.first);
    const size_t end = std::min(y * width + box.x + box.width, run.first + run.count);
    if (begin < end) visit(begin - run.first, end - run.first);
  }
}

// Calls put(element, value) for all values that are erased.
template <typename Put>
void Erase(const Effects& effects, const Erasure& erasure, const Shape& shape, const Run& run,
           const Put& put) {
  ForLines(erasure.box, shape.width, run, [&](size_t begin, size_t end) {
    if (effects.fill == EraseFill::kNoise) {
      for (size_t i = begin; i < end; ++i) {
        const Normals noise = NoiseOf(erasure.noise_key, run.first + i, 0);
        for (uint32_t c = 0; c < shape.channels; ++c)
          put(c * run.channel_step + i * run.pixel_step, noise.at[c]);
      }
      return;
    }
    for (uint32_t c = 0; c < shape.channels; ++c)
      for (size_t i = begin; i < end; ++i)
        put(c * run.channel_step + i * run.pixel_step, effects.value[c]);
  });
}

bool Interleaved(const Spec& spec, const Shape& shape) {
  return spec.layout == Layout::kNHWC || shape.channels == 1;
}

// Which row's box is erased: a row's own, or its partner's as far as CutMix's box shows it.
enum class Whose { kOwn, kPartners };

PixelBox Intersection(const PixelBox& a, const PixelBox& b) {
  const uint32_t x = std::max(a.x, b.x), y = std::max(a.y, b.y);
  const uint32_t right = std::min(a.x + a.width, b.x + b.width);
  const uint32_t bottom = std::min(a.y + a.height, b.y + b.height);
  if (x >= right || y >= bottom) return {};
  return {x, y, right - x, bottom - y};
}

// Erases boxes of finished images; `round` makes elements of floats.
template <typename Round>
void EraseRounded(const Spec& spec, const Effects& effects, const Shape& shape, Whose whose,
                  std::byte* out, const Round& round) {
  const size_t pixels = size_t{shape.height} * shape.width;
  Run run = {.count = pixels, .channel_step = pixels};
  if (Interleaved(spec, shape)) run.pixel_step = shape.channels, run.channel_step = 1;
  for (uint32_t row = 0; row < effects.erasures.size(); ++row) {
    const bool own = whose == Whose::kOwn;
    Erasure erasure = effects.erasures[own ? row : PartnerOf(row, shape.rows)];
    if (!own) erasure.box = Intersection(erasure.box, effects.mix.box);
    Erase(effects, erasure, shape, run, [&](size_t element, float value) {
      const auto rounded = round(value);
      std::memcpy(out + element * sizeof(rounded), &rounded, sizeof(rounded));
    });
    out += pixels * shape.channels * ElementBytes(spec.type);
  }
}

void EraseFinished(const Spec& spec, const Effects& effects, const Shape& shape, Whose whose,
                   std::byte* out) {
  const auto erase = [&](const auto& round) {
    EraseRounded(spec, effects, shape, whose, out, round);
  };
  switch (spec.type) {
    case Type::kUInt8:
      return erase([](float value) { return static_cast<uint8_t>(value); });
    case Type::kFloat32:
      return erase([](float value) { return value; });
    case Type::kFloat16:
      return erase(ToHalf);
    case Type::kBFloat16:
      return erase(ToBFloat16);
  }
}

// Converts tiles, which stay in the caches.
std::unique_ptr<Converter> ConverterTo(Type type, const Kernels& kernels, const Spec& spec,
                                       const Shape& shape) {
  if (Interleaved(spec, shape)) {
    const Coefficients all = {spec.mean, spec.stddev};
    return kernels.prepare(type, {&all, 1}, kTileValues * ElementBytes(type));
  }
  std::vector<Coefficients> channels;
  for (uint32_t c = 0; c < shape.channels; ++c)
    channels.push_back({spec.mean.subspan(c, 1), spec.stddev.subspan(c, 1)});
  return kernels.prepare(type, channels, kTileValues * ElementBytes(type));
}

// MixUp: converts a tile of a row and of the row before it, then blends both into the output. Each
// row is converted twice: keeping its tiles for the next row took longer.
class Blender {
 public:
  Blender(const Kernels& kernels, const Spec& spec, const Effects& effects, const Shape& shape)
      : kernels_(kernels),
        spec_(spec),
        effects_(effects),
        shape_(shape),
        converter_(ConverterTo(Type::kFloat32, kernels, spec, shape)) {}

  void Blend(const uint8_t* rows, std::byte* out) {
    const size_t pixels = size_t{shape_.height} * shape_.width;
    const size_t tile = kTileValues / shape_.channels / 16 * 16;
    for (uint32_t row = 0; row < shape_.rows; ++row) {
      std::byte* const image = out + row * pixels * shape_.channels * ElementBytes(spec_.type);
      for (size_t first = 0; first < pixels; first += tile) {
        const Run run = TileAt(first, std::min(tile, pixels - first));
        ConvertTile(rows, PartnerOf(row, shape_.rows), run, partner_);
        ConvertTile(rows, row, run, own_);
        BlendTile(run, image);
      }
    }
  }

 private:
  Run TileAt(size_t first, size_t count) const {
    if (Interleaved(spec_, shape_)) return {first, count, shape_.channels, 1};
    return {first, count, 1, count};
  }

  // The values of a tile of a row, after erasing.
  void ConvertTile(const uint8_t* rows, uint32_t row, const Run& run, std::vector<float>& into) {
    const size_t pixels = size_t{shape_.height} * shape_.width;
    const uint8_t* const from = rows + (row * pixels + run.first) * shape_.channels;
    auto* const values = reinterpret_cast<std::byte*>(into.data());
    if (Interleaved(spec_, shape_)) {
      converter_->Convert(0, from, run.count * shape_.channels, values);
    } else {
      uint8_t* planes[kMaxChannels];
      for (uint32_t c = 0; c < shape_.channels; ++c) planes[c] = split_.data() + c * run.count;
      kernels_.split(from, run.count, shape_.channels, planes);
      for (uint32_t c = 0; c < shape_.channels; ++c)
        converter_->Convert(c, planes[c], run.count, values + c * run.count * sizeof(float));
    }
    if (effects_.erasures.empty()) return;
    Erase(effects_, effects_.erasures[row], shape_, run,
          [&](size_t element, float value) { into[element] = value; });
  }

  void BlendTile(const Run& run, std::byte* image) const {
    const size_t bytes = ElementBytes(spec_.type);
    const size_t pixels = size_t{shape_.height} * shape_.width;
    const bool interleaved = Interleaved(spec_, shape_);
    const size_t count = interleaved ? run.count * shape_.channels : run.count;
    const MixFactors factors = ToFactors(effects_.mix);
    for (uint32_t part = 0; part < (interleaved ? 1 : shape_.channels); ++part)
      kernels_.blend(
          partner_.data() + part * count, factors.of_partner, own_.data() + part * count,
          factors.of_row, count, spec_.type,
          image + (interleaved ? run.first * shape_.channels : part * pixels + run.first) * bytes);
  }

  const Kernels& kernels_;
  const Spec& spec_;
  const Effects& effects_;
  const Shape& shape_;
  const std::unique_ptr<Converter> converter_;
  std::vector<uint8_t> split_ = std::vector<uint8_t>(kTileValues);
  std::vector<float> own_ = std::vector<float>(kTileValues);
  std::vector<float> partner_ = std::vector<float>(kTileValues);
};

// CutMix: finishes each line of the box once more, with the bytes of the row before.
void PasteBox(const Kernels& kernels, const Spec& spec, const PixelBox& box, const Shape& shape,
              const uint8_t* rows, std::byte* out) {
  if (box.width == 0 || box.height == 0) return;
  const std::unique_ptr<Converter> converter = ConverterTo(spec.type, kernels, spec, shape);
  const size_t pixels = size_t{shape.height} * shape.width, bytes = ElementBytes(spec.type);
  std::vector<uint8_t> split(size_t{box.width} * shape.channels);
  uint8_t* planes[kMaxChannels];
  for (uint32_t c = 0; c < shape.channels; ++c) planes[c] = split.data() + c * box.width;
  for (uint32_t row = 0; row < shape.rows; ++row)
    for (size_t y = box.y; y < size_t{box.y} + box.height; ++y) {
      const size_t first = y * shape.width + box.x;
      const uint8_t* const from =
          rows + (PartnerOf(row, shape.rows) * pixels + first) * shape.channels;
      std::byte* const image = out + row * pixels * shape.channels * bytes;
      if (Interleaved(spec, shape)) {
        converter->Convert(0, from, size_t{box.width} * shape.channels,
                           image + first * shape.channels * bytes);
        continue;
      }
      kernels.split(from, box.width, shape.channels, planes);
      for (uint32_t c = 0; c < shape.channels; ++c)
        converter->Convert(c, planes[c], box.width, image + (c * pixels + first) * bytes);
    }
}

void WriteSoftLabels(const Effects& effects, std::span<const int64_t> labels) {
  const MixFactors factors = ToFactors(effects.mix);
  const auto rows = static_cast<uint32_t>(labels.size());
  for (uint32_t row = 0; row < rows; ++row) {
    float* const into = effects.soft_labels + size_t{row} * effects.classes;
    std::fill_n(into, effects.classes, 0.0f);
    into[labels[PartnerOf(row, rows)]] = factors.of_partner;
    into[labels[row]] += factors.of_row;
  }
}

}  // namespace

absl::Status ApplyWithEffects(const Spec& spec, const Effects& effects, const Shape& shape,
                              std::span<const uint8_t> rows, std::span<const int64_t> labels,
                              std::span<std::byte> into) {
  static const Variant best = SupportedVariants().back();
  return ApplyWithEffects(spec, effects, shape, rows, labels, into, best);
}

absl::Status ApplyWithEffects(const Spec& spec, const Effects& effects, const Shape& shape,
                              std::span<const uint8_t> rows, std::span<const int64_t> labels,
                              std::span<std::byte> into, Variant variant) {
  PENSTOCK_RETURN_IF_ERROR(CheckSizes(spec, shape, rows.size(), into.size()));
  PENSTOCK_RETURN_IF_ERROR(CheckCoefficients(spec, shape.channels));
  PENSTOCK_RETURN_IF_ERROR(CheckEffects(spec, shape, effects));
  PENSTOCK_RETURN_IF_ERROR(CheckSoftLabels(effects, shape.rows, labels));
  if (effects.soft_labels != nullptr) WriteSoftLabels(effects, labels);
  if (rows.empty()) return absl::OkStatus();
  const Kernels& kernels = KernelsOf(variant);
  if (effects.mix.kind == MixKind::kMixUp) {
    Blender(kernels, spec, effects, shape).Blend(rows.data(), into.data());
    return absl::OkStatus();
  }
  PENSTOCK_RETURN_IF_ERROR(Apply(spec, shape, rows, into, variant));
  EraseFinished(spec, effects, shape, Whose::kOwn, into.data());
  if (effects.mix.kind != MixKind::kCutMix) return absl::OkStatus();
  PasteBox(kernels, spec, effects.mix.box, shape, rows.data(), into.data());
  EraseFinished(spec, effects, shape, Whose::kPartners, into.data());
  return absl::OkStatus();
}

absl::Status SynthesizeWithEffects(const Synthetic& what, const Spec& spec, const Effects& effects,
                                   const Shape& shape, std::span<std::byte> into,
                                   std::span<int64_t> labels) {
  PENSTOCK_RETURN_IF_ERROR(CheckSynthetic(what, spec, shape, into.size(), labels.size()));
  std::vector<uint8_t> rows(*FinishedBytes(Type::kUInt8, shape));
  std::vector<int64_t> all_labels(shape.rows);
  PENSTOCK_RETURN_IF_ERROR(Synthesize(what, {Type::kUInt8, Layout::kNHWC}, shape,
                                      std::as_writable_bytes(std::span(rows)), all_labels));
  std::copy_n(all_labels.begin(), labels.size(), labels.begin());
  return ApplyWithEffects(spec, effects, shape, rows, all_labels, into);
}

}  // namespace penstock::finish
