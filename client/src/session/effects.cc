// Draws the effects of a batch: checks, and the keys of its rows. The draws themselves are in
// client/finish/effects.
#include "penstock/effects.h"

#include <utility>

#include "client/finish/effects/draws.h"
#include "client/src/core/convert.h"
#include "penstock/batch.h"

namespace penstock {
namespace {

absl::Status CheckSides(uint32_t height, uint32_t width) {
  if (height > 0 && width > 0) return absl::OkStatus();
  return absl::InvalidArgumentError("effects: got a batch without images, expected images");
}

}  // namespace

Result<std::vector<Erasure>> DrawErasures(const RandomErasing& erasing, const DrawKey& key,
                                          std::span<const uint64_t> rows, uint32_t height,
                                          uint32_t width) {
  absl::Status status = finish::CheckErasing(erasing);
  if (status.ok()) status = finish::CheckKey(key);
  if (status.ok()) status = CheckSides(height, width);
  if (!status.ok()) return client::ToPublic(status);
  std::vector<Erasure> erasures;
  erasures.reserve(rows.size());
  for (const uint64_t row : rows)
    erasures.push_back(finish::DrawErasure(erasing, finish::ToSource(key, row), height, width));
  return erasures;
}

Result<Mix> DrawMix(std::span<const MixChoice> choices, double probability, const DrawKey& key,
                    uint64_t first, uint32_t height, uint32_t width) {
  absl::Status status = finish::CheckMixes(choices, probability);
  if (status.ok()) status = finish::CheckKey(key);
  if (status.ok()) status = CheckSides(height, width);
  if (!status.ok()) return client::ToPublic(status);
  return finish::DrawBatchMix(choices, probability, finish::ToSource(key, first), height, width);
}

std::vector<uint64_t> RowKeys(const RowKeying& keying, uint64_t first,
                              std::span<const uint64_t> sample_ids, uint32_t valid_rows) {
  std::vector<uint64_t> keys(sample_ids.begin(), sample_ids.end());
  for (size_t row = keying.by_position ? 0 : valid_rows; row < keys.size(); ++row) {
    const uint64_t index = (first + row) * keying.given_by.ranks + keying.given_by.rank;
    keys[row] = finish::DrawNumber(index, sample_ids[row]);
  }
  return keys;
}

Result<DrawnEffects> DrawEffects(const EffectOptions& options, const Batch& batch) {
  const std::span<const uint64_t> ids = batch.sample_ids();
  if (ids.empty())
    return Status(Code::kFailedPrecondition,
                  "effects: the batch was released; draw them before that");
  const Shape shape = batch.shape();
  DrawKey key = {.seed = options.seed, .epoch = batch.epoch(), .view = options.view};
  Effects effects = {.classes = options.classes};
  std::vector<Erasure> erasures;
  if (options.erasing) {
    key.step = options.erasing->step;
    const std::vector<uint64_t> rows =
        RowKeys(options.keying, batch.first(), ids, batch.valid_rows());
    auto drawn = DrawErasures(*options.erasing, key, rows, shape.height, shape.width);
    if (!drawn.ok()) return drawn.status();
    erasures = *std::move(drawn);
    effects.fill = options.erasing->fill;
    std::copy(std::begin(options.erasing->value), std::end(options.erasing->value), effects.value);
  }
  if (!options.mixes.empty()) {
    key.step = options.mix_step;
    const auto drawn = DrawMix(options.mixes, options.mix_probability, key, batch.first(),
                               shape.height, shape.width);
    if (!drawn.ok()) return drawn.status();
    effects.mix = *drawn;
  }
  return DrawnEffects(std::move(erasures), effects);
}

}  // namespace penstock
