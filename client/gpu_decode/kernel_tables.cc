#include "client/gpu_decode/kernel_tables.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/base/check.h"
#include "common/base/divide.h"

namespace penstock::gpu_decode {
namespace {

constexpr uint64_t kWordsPerAlignment = 4;  // 16 bytes

uint32_t GroupsOf(uint32_t taps) { return (taps + kTapsPerGroup - 1) / kTapsPerGroup; }

uint64_t Aligned(uint64_t words) {
  return (words + kWordsPerAlignment - 1) / kWordsPerAlignment * kWordsPerAlignment;
}

// Taps of an output at most: twice the filter's reach in inputs, and one.
uint64_t MostTaps(const resample::Axis& axis, base::Interpolation interpolation) {
  if (interpolation == base::Interpolation::kNearest) return 1;
  const double reach = interpolation == base::Interpolation::kLanczos   ? 3
                       : interpolation == base::Interpolation::kBicubic ? 2
                                                                        : 1;
  const double scale = std::max(1.0, static_cast<double>(axis.in) / axis.out);
  return std::min<uint64_t>(2 * static_cast<uint64_t>(std::ceil(reach * scale)) + 1, axis.in);
}

uint64_t MostWordsOf(const resample::Axis& axis, base::Interpolation interpolation) {
  const uint64_t taps = Aligned(MostTaps(axis, interpolation));
  return 2 * Aligned(axis.count) + Aligned(taps * axis.count);
}

}  // namespace

KernelTables::KernelTables(std::span<std::byte> buffer, uint32_t max_rows)
    : buffer_(buffer),
      max_rows_(max_rows),
      tables_(reinterpret_cast<uint32_t*>(buffer.data() + tables_offset())),
      capacity_(
          std::min<uint64_t>((buffer.size() - tables_offset()) / sizeof(uint32_t), UINT32_MAX)) {
  PENSTOCK_CHECK(buffer.size() > tables_offset());
}

size_t KernelTables::tables_offset() const {
  return (size_t{max_rows_} * sizeof(KernelRow) + 15) / 16 * 16;
}

uint64_t KernelTables::MostWords(const resample::Axis& x, const resample::Axis& y,
                                 base::Interpolation interpolation) {
  const uint64_t tile_inputs = Aligned(uint64_t{y.count} * sizeof(TileInputs) / sizeof(uint32_t));
  return MostWordsOf(x, interpolation) + MostWordsOf(y, interpolation) + tile_inputs;
}

void KernelTables::Clear() {
  rows_ = 0;
  used_ = 0;
  max_tiles_ = 0;
  max_taps_ = 0;
}

void KernelTables::Add(const KernelRow& row) {
  memcpy(buffer_.data() + rows_ * sizeof(KernelRow), &row, sizeof row);
  ++rows_;
  max_tiles_ = std::max(max_tiles_, row.tiles);
  max_taps_ = std::max({max_taps_, row.x.taps, row.y.taps});
}

bool KernelTables::AddImage(const JpegRow& row, const DecodedImage& image, uint8_t* into) {
  if (rows_ == max_rows_ || MostWords(row.x, row.y, row.interpolation) > capacity_ - used_) {
    return false;
  }
  x_taps_ = taps_.Find(row.x, row.interpolation);
  y_taps_ = taps_.Find(row.y, row.interpolation);
  KernelRow made = {.from = image.pixels,
                    .into = into,
                    .pitch = image.pitch,
                    .width = row.x.count,
                    .height = row.y.count};
  made.x = AddColumns(row);
  made.y = AddRows(row);
  AddTiles(row, made);
  Add(made);
  return true;
}

uint32_t KernelTables::Allocate(uint64_t words) {
  const uint32_t offset = used_;
  used_ += static_cast<uint32_t>(Aligned(words));
  PENSTOCK_CHECK(used_ <= capacity_);
  return offset;
}

// Neighbouring columns' weights lie side by side, because neighbouring threads read them. A flip
// reverses the columns.
AxisTable KernelTables::AddColumns(const JpegRow& row) {
  const uint32_t outputs = x_taps_->outputs();
  AxisTable table = {.taps = x_taps_->max_count(), .groups = GroupsOf(x_taps_->max_count())};
  table.first = Allocate(outputs);
  table.counts = Allocate(outputs);
  table.weights = Allocate(uint64_t{outputs} * table.groups * kTapsPerGroup);
  uint32_t* const weights = tables_ + table.weights;
  memset(weights, 0, size_t{outputs} * table.groups * kTapsPerGroup * sizeof(uint32_t));
  for (uint32_t i = 0; i < outputs; ++i) {
    const uint32_t output = row.flip ? outputs - 1 - i : i;
    const resample::TapRange inputs = x_taps_->inputs(output);
    tables_[table.first + i] = 3 * (row.left + inputs.first);
    tables_[table.counts + i] = inputs.count;
    for (uint32_t tap = 0; tap < inputs.count; ++tap) {
      weights[size_t{tap} * outputs + i] = static_cast<uint32_t>(x_taps_->weights(output)[tap]);
    }
  }
  return table;
}

AxisTable KernelTables::AddRows(const JpegRow& row) {
  const uint32_t outputs = y_taps_->outputs();
  AxisTable table = {.taps = y_taps_->max_count(), .groups = GroupsOf(y_taps_->max_count())};
  const uint32_t stride = table.groups * kTapsPerGroup;
  table.first = Allocate(outputs);
  table.counts = Allocate(outputs);
  table.weights = Allocate(uint64_t{outputs} * stride);
  for (uint32_t i = 0; i < outputs; ++i) {
    const resample::TapRange inputs = y_taps_->inputs(i);
    uint32_t* const weights = tables_ + table.weights + size_t{i} * stride;
    tables_[table.first + i] = row.top + inputs.first;
    tables_[table.counts + i] = inputs.count;
    memcpy(weights, y_taps_->weights(i), inputs.count * sizeof(uint32_t));
    memset(weights + inputs.count, 0, (stride - inputs.count) * sizeof(uint32_t));
  }
  return table;
}

TileInputs KernelTables::FindInputs(uint32_t first_output, uint32_t end) const {
  uint32_t first = UINT32_MAX, last = 0;
  for (uint32_t i = first_output; i < std::min(end, y_taps_->outputs()); ++i) {
    const resample::TapRange inputs = y_taps_->inputs(i);
    first = std::min(first, inputs.first);
    last = std::max(last, inputs.first + inputs.count);
  }
  return {first, last - first};
}

// The highest tile whose inputs always fit shared memory; 0 if not even one row's do.
uint32_t KernelTables::TileHeight() const {
  for (uint32_t height = kMaxTileHeight; height > 0; height /= 2) {
    bool fits = true;
    for (uint32_t i = 0; fits && i < y_taps_->outputs(); i += height) {
      fits = FindInputs(i, i + height).count <= kMaxTileInputs;
    }
    if (fits) return height;
  }
  return 0;
}

void KernelTables::AddTiles(const JpegRow& row, KernelRow& made) {
  made.tile_height = TileHeight();
  const uint32_t step = std::max(1u, made.tile_height);
  const uint32_t down = (made.height + step - 1) / step;
  made.tiles_across = (made.width + kTileWidth - 1) / kTileWidth;
  made.tiles = made.tiles_across * down;
  made.tile_inputs = Allocate(uint64_t{down} * sizeof(TileInputs) / sizeof(uint32_t));
  for (uint32_t i = 0; i < down; ++i) {
    TileInputs inputs = FindInputs(i * step, (i + 1) * step);
    inputs.first += row.top;
    memcpy(tables_ + made.tile_inputs + 2 * i, &inputs, sizeof inputs);
  }
}

}  // namespace penstock::gpu_decode
