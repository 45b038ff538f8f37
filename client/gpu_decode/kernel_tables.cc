#include "client/gpu_decode/kernel_tables.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

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

// Of a record with the first input before the weights, which is more than columns take.
uint64_t MostWordsOf(const resample::Axis& axis, base::Interpolation interpolation) {
  const uint64_t record = Aligned(1 + MostTaps(axis, interpolation));
  return 2 * Aligned(axis.count) + record * axis.count;
}

// Copies weights into a table whose weights have `shift` more bits behind the point.
uint32_t* PutWeights(std::span<const int32_t> weights, uint32_t shift, size_t stride,
                     uint32_t* at) {
  for (const int32_t weight : weights) {
    *at = static_cast<uint32_t>(weight) << shift;
    at += stride;
  }
  return at;
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
  any_plain_ = any_other_ = false;
}

void KernelTables::Add(const KernelRow& row) {
  memcpy(buffer_.data() + rows_ * sizeof(KernelRow), &row, sizeof row);
  ++rows_;
  max_tiles_ = std::max(max_tiles_, row.tiles);
  (row.is_plain != 0 ? any_plain_ : any_other_) = true;
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
                    .height = row.y.count,
                    .is_plain = IsPlain(row.interpolation) ? 1u : 0u};
  const uint32_t shift = made.is_plain != 0 ? kPlainShift : 0;
  made.x = AddColumns(row, shift);
  made.y = AddRows(shift);
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

// The other filters have negative lobes.
bool KernelTables::IsPlain(base::Interpolation interpolation) const {
  return std::max(x_taps_->max_count(), y_taps_->max_count()) <= kMostFewTaps &&
         (interpolation == base::Interpolation::kNearest ||
          interpolation == base::Interpolation::kBilinear);
}

// Neighbouring columns' weights lie side by side, because neighbouring threads read them. A flip
// reverses the columns.
ColumnsTable KernelTables::AddColumns(const JpegRow& row, uint32_t shift) {
  const uint32_t outputs = x_taps_->outputs();
  ColumnsTable table = {.taps = x_taps_->max_count()};
  const size_t words = size_t{outputs} * GroupsOf(table.taps) * kTapsPerGroup;
  table.first = Allocate(outputs);
  table.counts = Allocate(outputs);
  table.weights = Allocate(words);
  memset(tables_ + table.weights, 0, words * sizeof(uint32_t));
  for (uint32_t i = 0; i < outputs; ++i) {
    const uint32_t output = row.flip ? outputs - 1 - i : i;
    const resample::TapRange inputs = x_taps_->inputs(output);
    tables_[table.first + i] = 3 * (row.left + inputs.first);
    tables_[table.counts + i] = inputs.count;
    PutWeights({x_taps_->weights(output), inputs.count}, shift, outputs,
               tables_ + table.weights + i);
  }
  return table;
}

RowsTable KernelTables::AddRows(uint32_t shift) {
  const uint32_t outputs = y_taps_->outputs();
  RowsTable table = {.taps = y_taps_->max_count(), .groups = GroupsOf(1 + y_taps_->max_count())};
  const uint32_t stride = table.groups * kTapsPerGroup;
  table.counts = Allocate(outputs);
  table.records = Allocate(uint64_t{outputs} * stride);
  for (uint32_t i = 0; i < outputs; ++i) {
    const resample::TapRange inputs = y_taps_->inputs(i);
    uint32_t* const record = tables_ + table.records + size_t{i} * stride;
    tables_[table.counts + i] = inputs.count;
    record[0] = inputs.first;  // AddTiles makes it the tile's
    uint32_t* const end = PutWeights({y_taps_->weights(i), inputs.count}, shift, 1, record + 1);
    std::fill(end, record + stride, 0u);
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

bool KernelTables::FitsShared(uint32_t height) const {
  for (uint32_t i = 0; i < y_taps_->outputs(); i += height) {
    if (FindInputs(i, i + height).count > kMaxTileInputs) return false;
  }
  return true;
}

// The highest tile whose inputs always fit shared memory, as high as the others if possible, and of
// rows for all warps; 0 if not even one row's do.
uint32_t KernelTables::TileHeight(const resample::Axis& y) const {
  // Neighbouring outputs' inputs are in/out apart, so hardly more fit than this.
  const uint64_t most = std::min<uint64_t>(uint64_t{kMaxTileInputs} * y.out / y.in, kMaxTileHeight);
  uint32_t height = static_cast<uint32_t>(most) / kTileStep * kTileStep;
  if (height > 0) {
    const uint64_t rows = base::DivideUp(y.count, base::DivideUp(y.count, height));
    height = static_cast<uint32_t>(base::DivideUp(rows, kTileStep)) * kTileStep;
  }
  for (; height > 0; height -= kTileStep)
    if (FitsShared(height)) return height;
  for (height = kTileStep / 2; height > 0; height /= 2)
    if (FitsShared(height)) return height;
  return 0;
}

void KernelTables::AddTiles(const JpegRow& row, KernelRow& made) {
  made.tile_height = TileHeight(row.y);
  const uint32_t step = std::max(1u, made.tile_height);
  const uint32_t down = (made.height + step - 1) / step;
  made.tiles_across = (made.width + kTileWidth - 1) / kTileWidth;
  made.tiles = made.tiles_across * down;
  made.tile_inputs = Allocate(uint64_t{down} * sizeof(TileInputs) / sizeof(uint32_t));
  for (uint32_t i = 0; i < down; ++i) {
    TileInputs inputs = FindInputs(i * step, (i + 1) * step);
    const uint32_t end = std::min((i + 1) * step, made.height);
    for (uint32_t y = i * step; y < end; ++y)
      tables_[made.y.records + y * made.y.groups * kTapsPerGroup] -= inputs.first;
    inputs.first += row.top;
    memcpy(tables_ + made.tile_inputs + 2 * i, &inputs, sizeof inputs);
  }
}

}  // namespace penstock::gpu_decode
