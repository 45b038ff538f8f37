#include "server/decode/resample/resampler.h"

#include <algorithm>

#include "common/base/check.h"

namespace penstock::decode {
void Resampler::Begin(const Placement& placement, uint8_t* out) {
  out_ = out;
  taken_ = 0;
  emitted_ = 0;
  outputs_ = placement.x.count;
  padded_outputs_ = static_cast<uint32_t>(base::RoundUp(outputs_, 4));
  x_taps_.Compute(placement.x, placement.interpolation);
  y_taps_.Compute(placement.y, placement.interpolation);
  PackHorizontal(placement);
  PackVertical();
  PrepareRing();
}

uint32_t Resampler::GroupsFor(uint32_t taps) const {
  return static_cast<uint32_t>(base::RoundUp(taps, kernels_.taps_per_group) /
                               kernels_.taps_per_group);
}

// Packs the output's weights as `groups` groups of inputs: `skipped` zeros, the weights, then
// zeros.
void Resampler::PackOutput(const Taps& taps, uint32_t output, uint32_t skipped, uint32_t groups,
                           int32_t* packed) {
  std::fill(padded_weights_.begin(), padded_weights_.end(), 0);
  std::copy_n(taps.weights(output), taps.inputs(output).count, padded_weights_.begin() + skipped);
  for (uint32_t group = 0; group < groups; ++group) {
    kernels_.pack(&padded_weights_[size_t{group} * kernels_.taps_per_group],
                  packed + size_t{group} * kernels_.words_per_group);
  }
}

// All outputs read the same number of inputs, that of the output with the most. At the right edge,
// an output with fewer inputs starts further left, so that it doesn't read past the row. A flip
// only reverses the order of the outputs.
void Resampler::PackHorizontal(const Placement& placement) {
  x_groups_ = GroupsFor(x_taps_.max_count());
  const size_t words = size_t{x_groups_} * kernels_.words_per_group;
  const TapRange needed = x_taps_.needed();
  const uint32_t read = std::min(x_groups_ * kernels_.taps_per_group, needed.count);
  x_first_.assign(padded_outputs_, 0);
  x_weights_.assign(padded_outputs_ * words, 0);
  padded_weights_.resize(size_t{x_groups_} * kernels_.taps_per_group);
  for (uint32_t i = 0; i < outputs_; ++i) {
    const uint32_t output = placement.flip ? outputs_ - 1 - i : i;
    const uint32_t first = x_taps_.inputs(output).first - needed.first;
    const uint32_t begin = std::min(first, needed.count - read);
    x_first_[i] = 4 * begin;
    PackOutput(x_taps_, output, first - begin, x_groups_, &x_weights_[i * words]);
  }
}

void Resampler::PackVertical() {
  y_groups_ = GroupsFor(y_taps_.max_count());
  const size_t words = size_t{y_groups_} * kernels_.words_per_group;
  y_weights_.resize(y_taps_.outputs() * words);
  padded_weights_.resize(size_t{y_groups_} * kernels_.taps_per_group);
  for (uint32_t i = 0; i < y_taps_.outputs(); ++i) {
    PackOutput(y_taps_, i, 0, y_groups_, &y_weights_[i * words]);
  }
  y_rows_.resize(size_t{y_groups_} * kernels_.taps_per_group);
}

// An output is emitted as soon as its last input has arrived. So the ring holds the inputs of one
// output, plus what one call of Take may add.
void Resampler::PrepareRing() {
  ring_rows_ = static_cast<uint32_t>(base::RoundUp(y_taps_.kept() + kRowsAtOnce, kRowsAtOnce));
  row_stride_ =
      base::RoundUp(size_t{3} * padded_outputs_ + kSlackBytes, base::AlignedBuffer::kAlignment);
  ring_.Reserve(ring_rows_ * row_stride_);
}

void Resampler::Take(const uint8_t* const rows[kRowsAtOnce], uint32_t count) {
  PENSTOCK_CHECK(count >= 1 && taken_ % kRowsAtOnce == 0);
  const uint8_t* in[kRowsAtOnce];
  uint8_t* out[kRowsAtOnce];
  for (uint32_t i = 0; i < kRowsAtOnce; ++i) {
    in[i] = rows[std::min(i, count - 1)];  // the last call's missing rows: computed but never used
    out[i] = RingRow(taken_ + i);
  }
  kernels_.horizontal({in, out, x_first_.data(), x_weights_.data(), static_cast<int>(x_groups_),
                       static_cast<int>(padded_outputs_)});
  taken_ += count;
  EmitReadyRows();
}

void Resampler::EmitReadyRows() {
  const uint32_t first = y_taps_.needed().first;
  for (; emitted_ < y_taps_.outputs(); ++emitted_) {
    const TapRange& inputs = y_taps_.inputs(emitted_);
    if (inputs.first - first + inputs.count > taken_) return;
    EmitRow(emitted_);
  }
}

void Resampler::EmitRow(uint32_t output) {
  const TapRange& inputs = y_taps_.inputs(output);
  const uint32_t first = inputs.first - y_taps_.needed().first;
  const uint32_t groups = GroupsFor(inputs.count);
  for (uint32_t tap = 0; tap < groups * kernels_.taps_per_group; ++tap) {
    y_rows_[tap] = RingRow(first + std::min(tap, inputs.count - 1));
  }
  const size_t words = size_t{y_groups_} * kernels_.words_per_group;
  const size_t bytes = size_t{3} * outputs_;
  kernels_.vertical({y_rows_.data(), &y_weights_[output * words], static_cast<int>(groups),
                     out_ + output * bytes, bytes});
}

}  // namespace penstock::decode
