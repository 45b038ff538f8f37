#include "client/finish/effects/draws.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/exact.h"

namespace penstock::finish {
namespace {

constexpr uint32_t kAttempts = 10;
constexpr uint32_t kBetaDraw = 64;  // the first of 64
constexpr uint32_t kMostViews = 256, kMostSteps = 65536;

absl::Status OutOfRange(absl::string_view what, absl::string_view got, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": got ", got, ", expected ", expected));
}

absl::Status CheckProbability(absl::string_view what, double probability) {
  if (probability >= 0 && probability <= 1) return absl::OkStatus();
  return OutOfRange(what, absl::StrCat(probability), "0 to 1");
}

// Sides like torchvision's: the image's own sides are too long.
bool TryErase(const RandomErasing& erasing, const base::PhiloxWords& words, uint32_t height,
              uint32_t width, PixelBox* box) {
  const double pixels = static_cast<double>(height) * width;
  const double area = pixels * (erasing.scale_min +
                                (erasing.scale_max - erasing.scale_min) * base::UnitOf(words[0]));
  const double aspect =
      erasing.ratio_min * base::PowerOf(erasing.ratio_max / erasing.ratio_min, words[1]);
  const double h = std::nearbyint(std::sqrt(area * aspect));
  const double w = std::nearbyint(std::sqrt(area / aspect));
  if (!(h < height && w < width)) return false;
  box->height = static_cast<uint32_t>(h);
  box->width = static_cast<uint32_t>(w);
  box->y = base::BelowOf(words[2], height - box->height + 1);
  box->x = base::BelowOf(words[3], width - box->width + 1);
  return true;
}

const MixChoice& ChooseMix(std::span<const MixChoice> choices, uint32_t word) {
  double total = 0;
  for (const MixChoice& choice : choices) total += choice.weight;
  double left = base::UnitOf(word) * total;
  const MixChoice* last = nullptr;
  for (const MixChoice& choice : choices) {
    if (choice.weight == 0) continue;
    last = &choice;
    if (left < choice.weight) break;
    left -= choice.weight;
  }
  return *last;
}

// The part of [centre − half, centre + half) that is inside of the side, as its begin and length.
void Clip(uint32_t centre, uint32_t half, uint32_t side, uint32_t* begin, uint32_t* length) {
  *begin = centre - std::min(centre, half);
  *length = std::min<uint64_t>(uint64_t{centre} + half, side) - *begin;
}

PixelBox CutBox(double share, const base::PhiloxWords& words, uint32_t height, uint32_t width) {
  const double half = 0.5 * std::sqrt(1.0 - share);
  PixelBox box;
  Clip(base::BelowOf(words[2], width), static_cast<uint32_t>(half * width), width, &box.x,
       &box.width);
  Clip(base::BelowOf(words[3], height), static_cast<uint32_t>(half * height), height, &box.y,
       &box.height);
  return box;
}

// SplitMix64's finaliser.
uint64_t Finalise(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace

absl::Status CheckErasing(const RandomErasing& erasing) {
  PENSTOCK_RETURN_IF_ERROR(CheckProbability("erasing: probability", erasing.probability));
  if (!(erasing.scale_min >= 0 && erasing.scale_min <= erasing.scale_max && erasing.scale_max <= 1))
    return OutOfRange("erasing: scale", absl::StrCat(erasing.scale_min, " to ", erasing.scale_max),
                      "a rising range within 0 to 1");
  if (!(erasing.ratio_min > 0 && erasing.ratio_min <= erasing.ratio_max &&
        std::isfinite(erasing.ratio_max / erasing.ratio_min)))
    return OutOfRange("erasing: ratio", absl::StrCat(erasing.ratio_min, " to ", erasing.ratio_max),
                      "a rising range of finite numbers above 0");
  for (const float value : erasing.value)
    if (!std::isfinite(value))
      return OutOfRange("erasing: value", absl::StrCat(value), "a finite number");
  return absl::OkStatus();
}

absl::Status CheckMixes(std::span<const MixChoice> choices, double probability) {
  PENSTOCK_RETURN_IF_ERROR(CheckProbability("mix: probability", probability));
  double total = 0;
  for (const MixChoice& choice : choices) {
    if (!(choice.alpha >= base::kLeastShape && choice.alpha <= base::kMostShape))
      return OutOfRange("mix: alpha", absl::StrCat(choice.alpha), "1e-9 to 1e9");
    if (!(choice.weight >= 0))
      return OutOfRange("mix: weight", absl::StrCat(choice.weight), "a number of at least 0");
    total += choice.weight;
  }
  if (!choices.empty() && !(total > 0 && std::isfinite(total)))
    return OutOfRange("mix: sum of all weights", absl::StrCat(total), "a finite number above 0");
  return absl::OkStatus();
}

absl::Status CheckKey(const DrawKey& key) {
  if (key.view >= kMostViews) return OutOfRange("view", absl::StrCat(key.view), "below 256");
  if (key.step < 1 || key.step >= kMostSteps)
    return OutOfRange("step", absl::StrCat(key.step), "1 to 65535");
  return absl::OkStatus();
}

base::DrawSource ToSource(const DrawKey& key, uint64_t sample) {
  return {.seed = key.seed,
          .epoch = key.epoch,
          .sample = sample,
          .operation = key.view << 24 | key.step << 8};
}

Erasure DrawErasure(const RandomErasing& erasing, const base::DrawSource& source, uint32_t height,
                    uint32_t width) {
  Erasure erasure;
  const base::PhiloxWords first = source.Words(0);
  if (!(base::UnitOf(first[0]) < erasing.probability)) return erasure;
  erasure.noise_key = uint64_t{first[2]} << 32 | first[1];
  for (uint32_t attempt = 1; attempt <= kAttempts; ++attempt)
    if (TryErase(erasing, source.Words(attempt), height, width, &erasure.box)) return erasure;
  return {};
}

Mix DrawBatchMix(std::span<const MixChoice> choices, double probability,
                 const base::DrawSource& source, uint32_t height, uint32_t width) {
  const base::PhiloxWords first = source.Words(0);
  if (choices.empty() || !(base::UnitOf(first[0]) < probability)) return {};
  const MixChoice& choice = ChooseMix(choices, first[1]);
  Mix mix = {.kind = choice.kind};
  if (choice.kind == MixKind::kNone) return mix;
  mix.share = base::DrawBeta(choice.alpha, choice.alpha, source, kBetaDraw);
  if (choice.kind == MixKind::kMixUp) return mix;
  mix.box = CutBox(mix.share, first, height, width);
  const double cut = static_cast<double>(mix.box.width) * mix.box.height;
  mix.share = 1.0 - cut / (static_cast<double>(width) * height);
  return mix;
}

uint64_t DrawNumber(uint64_t index, uint64_t sample) {
  return Finalise(Finalise(index + 0x9E3779B97F4A7C15) ^ sample);
}

}  // namespace penstock::finish
