#include "tests/support/effects_cases.h"

#include <cstring>
#include <random>

#include "client/finish/effects/noise.h"
#include "client/finish/half.h"
#include "tests/support/finish_suite.h"

namespace penstock::finish {
namespace {

std::vector<Erasure> SomeErasures(const Shape& shape) {
  std::mt19937 random(shape.rows + shape.width);
  const auto below = [&](uint32_t most) { return static_cast<uint32_t>(random() % most); };
  std::vector<Erasure> erasures(shape.rows);
  for (uint32_t row = 0; row < shape.rows; ++row) {
    Erasure& erasure = erasures[row];
    erasure.noise_key = uint64_t{random()} << 32 | random();
    if (row % 5 == 1) continue;                                             // none
    if (row % 5 == 2) erasure.box = {0, 0, shape.width, shape.height};      // all
    if (row % 5 == 3) erasure.box = {0, shape.height - 1, shape.width, 1};  // a line
    if (row % 5 == 4) erasure.box = {shape.width - 1, 0, 1, shape.height};  // a column
    if (row % 5 != 0) continue;
    erasure.box.x = below(shape.width), erasure.box.y = below(shape.height);
    erasure.box.width = 1 + below(shape.width - erasure.box.x);
    erasure.box.height = 1 + below(shape.height - erasure.box.y);
  }
  return erasures;
}

std::vector<Mix> SomeMixes(const Spec& spec, const Shape& shape) {
  std::vector<Mix> mixes = {{}};
  if (spec.type == Type::kUInt8) return mixes;
  mixes.push_back({.kind = MixKind::kMixUp, .share = 0.7312345678});
  mixes.push_back({.kind = MixKind::kMixUp, .share = 0.0});
  const uint32_t w = shape.width, h = shape.height;
  mixes.push_back({.kind = MixKind::kCutMix,
                   .share = 0.5,
                   .box = {w / 3, h / 4, w - w / 3 - w / 5, h - h / 4 - h / 3}});
  mixes.push_back({.kind = MixKind::kCutMix, .share = 1.0, .box = {w, h, 0, 0}});
  return mixes;
}

bool In(const PixelBox& box, uint32_t x, uint32_t y) {
  return x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height;
}

void PutRounded(Type type, float value, std::byte* out) {
  if (type == Type::kUInt8) *out = static_cast<std::byte>(value);
  if (type == Type::kFloat32) std::memcpy(out, &value, 4);
  if (type == Type::kFloat32 || type == Type::kUInt8) return;
  const uint16_t half = type == Type::kFloat16 ? ToHalf(value) : ToBFloat16(value);
  std::memcpy(out, &half, 2);
}

// The values after erasing, in NHWC order.
std::vector<float> ErasedValues(const Spec& spec, const Effects& effects, const Shape& shape,
                                const std::vector<uint8_t>& rows) {
  std::vector<float> values(rows.begin(), rows.end());
  if (spec.type != Type::kUInt8) {
    const auto finished =
        NaiveFinish({Type::kFloat32, Layout::kNHWC, spec.mean, spec.stddev}, shape, rows);
    std::memcpy(values.data(), finished.data(), finished.size());
  }
  size_t at = 0;
  for (uint32_t row = 0; row < shape.rows && !effects.erasures.empty(); ++row)
    for (uint32_t y = 0; y < shape.height; ++y)
      for (uint32_t x = 0; x < shape.width; ++x)
        for (uint32_t c = 0; c < shape.channels; ++c, ++at) {
          const Erasure& erasure = effects.erasures[row];
          if (!In(erasure.box, x, y)) continue;
          const uint64_t pixel = uint64_t{y} * shape.width + x;
          values[at] = effects.fill == EraseFill::kValue
                           ? effects.value[c]
                           : NoiseOf(erasure.noise_key, pixel, 0).at[c];
        }
  return values;
}

// Volatile, so that each operation is rounded separately.
float MixedUp(const Mix& mix, float partner, float own) {
  volatile float of_partner = static_cast<float>(1.0 - mix.share);
  volatile float of_row = static_cast<float>(mix.share);
  of_partner = of_partner * partner;
  of_row = of_row * own;
  return of_partner + of_row;
}

}  // namespace

Effects EffectsCase::ToEffects() const {
  Effects effects = {.erasures = erasures, .fill = fill, .mix = mix};
  effects.value[0] = 3, effects.value[1] = 0, effects.value[2] = 200;
  return effects;
}

std::vector<EffectsCase> EffectsCases(const Spec& spec, const Shape& shape) {
  std::vector<EffectsCase> cases;
  for (const Mix& mix : SomeMixes(spec, shape)) {
    const std::string name = "mix " + std::to_string(cases.size());
    cases.push_back({.name = name, .mix = mix});
    if (shape.channels > kEffectChannels) continue;
    cases.push_back({.name = name + " values", .erasures = SomeErasures(shape), .mix = mix});
    if (spec.type == Type::kUInt8) continue;
    cases.push_back(cases.back());
    cases.back().name = name + " noise";
    cases.back().fill = EraseFill::kNoise;
  }
  return cases;
}

std::vector<std::byte> NaiveEffects(const Spec& spec, const Effects& effects, const Shape& shape,
                                    const std::vector<uint8_t>& rows) {
  const std::vector<float> values = ErasedValues(spec, effects, shape, rows);
  const size_t area = size_t{shape.height} * shape.width, row_values = area * shape.channels;
  std::vector<std::byte> out(rows.size() * ElementBytes(spec.type));
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t row = i / row_values, pixel = i % row_values / shape.channels;
    const size_t c = i % shape.channels;
    const float partner = values[(row + shape.rows - 1) % shape.rows * row_values + i % row_values];
    float value = values[i];
    if (effects.mix.kind == MixKind::kMixUp) value = MixedUp(effects.mix, partner, value);
    const bool cut = In(effects.mix.box, pixel % shape.width, pixel / shape.width);
    if (effects.mix.kind == MixKind::kCutMix && cut) value = partner;
    const size_t at = spec.layout == Layout::kNHWC ? i : (row * shape.channels + c) * area + pixel;
    PutRounded(spec.type, value, out.data() + at * ElementBytes(spec.type));
  }
  return out;
}

std::vector<int64_t> RandomLabels(uint32_t rows, uint32_t classes) {
  std::mt19937 random(rows);
  std::vector<int64_t> labels(rows);
  for (uint32_t row = 0; row < rows; ++row)
    labels[row] = row % 4 == 1 ? labels[row - 1] : static_cast<int64_t>(random() % classes);
  return labels;
}

std::vector<float> NaiveSoftLabels(const Mix& mix, const std::vector<int64_t>& labels,
                                   uint32_t classes) {
  std::vector<float> soft;
  for (size_t row = 0; row < labels.size(); ++row)
    for (int64_t k = 0; k < classes; ++k) {
      const int64_t partner = labels[(row + labels.size() - 1) % labels.size()];
      soft.push_back(MixedUp(mix, partner == k ? 1.0f : 0.0f, labels[row] == k ? 1.0f : 0.0f));
    }
  return soft;
}

}  // namespace penstock::finish
