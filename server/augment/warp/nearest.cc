#include "server/augment/warp/nearest.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "server/augment/warp/fill_row.h"
#include "server/augment/warp/kernels.h"

namespace penstock::augment {
namespace {

constexpr int64_t kFixedOne = int64_t{1} << kFixedBits;
constexpr double kFixedLimit = 32768;

// Pixels of an output row: from `begin` to before `end`.
struct Run {
  int64_t begin, end;

  int64_t size() const { return std::max<int64_t>(end - begin, 0); }
};

// {0, 0} if there is none.
Run Intersection(Run a, Run b) {
  const Run both = {std::max(a.begin, b.begin), std::min(a.end, b.end)};
  return both.size() > 0 ? both : Run{0, 0};
}

int64_t FloorDivide(int64_t a, int64_t positive) {
  const int64_t quotient = a / positive;
  return quotient - (a % positive < 0 ? 1 : 0);
}

// The i in [0, count) for which 0 ≤ start + i · step < limit.
Run RunWithin(int64_t start, int64_t step, int64_t limit, int64_t count) {
  const Run all = {0, count};
  if (step == 0) return start >= 0 && start < limit ? all : Run{0, 0};
  if (step > 0) {
    return Intersection(all, {-FloorDivide(start, step), -FloorDivide(start - limit, step)});
  }
  return Intersection(all, {FloorDivide(start - limit, -step) + 1, FloorDivide(start, -step) + 1});
}

// One row of the output while it is written.
template <int kChannelCount>
class RowWriter {
 public:
  RowWriter(const ImageView& out, const Fill& fill) : out_(out), fill_(fill) {}

  // Fills what is outside of `run`, and returns where the run's pixels go.
  uint8_t* Begin(uint32_t y, Run run) const {
    uint8_t* const row = out_.row(y);
    FillPixels(row, static_cast<size_t>(run.begin), kChannelCount, fill_);
    FillPixels(row + run.end * kChannelCount, static_cast<size_t>(out_.width - run.end),
               kChannelCount, fill_);
    return row + run.begin * kChannelCount;
  }

 private:
  ImageView out_;
  Fill fill_;
};

// ---- scaling: the input's column for each output column is found once, by adding up

struct Columns {
  const uint32_t* at;  // valid within the run
  Run run;
  bool neighbours;  // each column is the one before, plus one
};

// Pillow's conversion: values below zero become -1. Those beyond the limit are outside as well.
int64_t Cell(double value, uint32_t limit) {
  return value < 0 || !(value < limit) ? -1 : static_cast<int64_t>(value);
}

Columns FindColumns(const ConstImageView& in, uint32_t count, double start, double step,
                    Scratch& scratch) {
  uint32_t* const at = reinterpret_cast<uint32_t*>(scratch.Reserve(size_t{count} * sizeof(*at)));
  Columns columns = {at, {count, 0}, true};
  for (uint32_t x = 0; x < count; ++x, start += step) {
    const int64_t cell = Cell(start, in.width);
    if (cell < 0) continue;
    columns.run = {std::min<int64_t>(columns.run.begin, x), x + 1};
    at[x] = static_cast<uint32_t>(cell);
    if (x > columns.run.begin && at[x] != at[x - 1] + 1) columns.neighbours = false;
  }
  if (columns.run.end == 0) columns.run = {0, 0};
  return columns;
}

template <int kChannelCount>
void CopyColumns(const uint8_t* from, const Columns& columns, uint8_t* out) {
  const uint32_t* const at = columns.at;
  if (columns.neighbours) {
    memcpy(out, from + size_t{at[columns.run.begin]} * kChannelCount,
           static_cast<size_t>(columns.run.size()) * kChannelCount);
    return;
  }
  for (int64_t x = columns.run.begin; x < columns.run.end; ++x, out += kChannelCount) {
    memcpy(out, from + size_t{at[x]} * kChannelCount, kChannelCount);
  }
}

template <int kChannelCount>
void Scale(const ConstImageView& in, const ImageView& out, const double* a, const Fill& fill,
           Scratch& scratch) {
  const Columns columns = FindColumns(in, out.width, a[2] + a[0] * 0.5, a[0], scratch);
  const RowWriter<kChannelCount> writer(out, fill);
  double y_in = a[5] + a[4] * 0.5;
  for (uint32_t y = 0; y < out.height; ++y, y_in += a[4]) {
    const int64_t row = Cell(y_in, in.height);
    if (row < 0 || columns.run.size() == 0) {
      writer.Begin(y, {0, 0});
      continue;
    }
    CopyColumns<kChannelCount>(in.row(static_cast<uint32_t>(row)), columns,
                               writer.Begin(y, columns.run));
  }
}

// ---- fixed point

struct FixedMatrix {
  int64_t a[6];
};

int64_t Fixed(double value) { return static_cast<int64_t>(std::floor(value * 65536.0 + 0.5)); }

FixedMatrix ToFixed(const double* a) {
  return {{Fixed(a[0]), Fixed(a[1]), Fixed(a[2] + a[0] * 0.5 + a[1] * 0.5), Fixed(a[3]),
           Fixed(a[4]), Fixed(a[5] + a[3] * 0.5 + a[4] * 0.5)}};
}

bool CornerFits(const double* a, double x, double y) {
  return std::fabs(x * a[0] + y * a[1] + a[2]) < kFixedLimit &&
         std::fabs(x * a[3] + y * a[4] + a[5]) < kFixedLimit;
}

bool FitsFixed(const double* a, const ImageView& out) {
  const double w = out.width, h = out.height;
  return CornerFits(a, 0, 0) && CornerFits(a, w, h) && CornerFits(a, 0, h) && CornerFits(a, w, 0);
}

bool CanCopyFast(const ConstImageView& in, const FixedLine& line, int64_t count) {
  const int64_t lowest = std::max(line.y, line.y + (count - 1) * line.y_step) >> kFixedBits;
  return lowest + 1 < in.height && in.width >= 3 && in.bytes() <= INT32_MAX;
}

template <int kChannelCount>
void CopyLine(const ConstImageView& in, FixedLine line, uint32_t count, uint8_t* out) {
  const auto at = [&] {
    return in.row(static_cast<uint32_t>(line.y >> kFixedBits)) +
           (line.x >> kFixedBits) * kChannelCount;
  };
  if (count == 0) return;
  if (line.y_step == 0 && line.x_step == kFixedOne) {
    memcpy(out, at(), size_t{count} * kChannelCount);
    return;
  }
  if (CanCopyFast(in, line, count)) {
    BestWarpKernels().copy_line[KernelIndex(kChannelCount)](in, line, count, out);
    return;
  }
  for (uint32_t i = 0; i < count; ++i, out += kChannelCount) {
    memcpy(out, at(), kChannelCount);
    line.x += line.x_step;
    line.y += line.y_step;
  }
}

template <int kChannelCount>
void WarpFixed(const ConstImageView& in, const ImageView& out, const double* matrix,
               const Fill& fill) {
  const FixedMatrix fixed = ToFixed(matrix);
  const int64_t* const a = fixed.a;
  const RowWriter<kChannelCount> writer(out, fill);
  FixedLine line = {a[2], a[5], a[0], a[3]};
  for (uint32_t y = 0; y < out.height; ++y, line.x += a[1], line.y += a[4]) {
    const Run run = Intersection(RunWithin(line.x, line.x_step, in.width * kFixedOne, out.width),
                                 RunWithin(line.y, line.y_step, in.height * kFixedOne, out.width));
    const FixedLine first = {line.x + run.begin * line.x_step, line.y + run.begin * line.y_step,
                             line.x_step, line.y_step};
    CopyLine<kChannelCount>(in, first, static_cast<uint32_t>(run.size()), writer.Begin(y, run));
  }
}

// ---- double, by adding up

template <int kChannelCount>
void WarpDouble(const ConstImageView& in, const ImageView& out, const double* a, const Fill& fill) {
  double x_row = a[2] + a[1] * 0.5 + a[0] * 0.5;
  double y_row = a[5] + a[4] * 0.5 + a[3] * 0.5;
  for (uint32_t y = 0; y < out.height; ++y, x_row += a[1], y_row += a[4]) {
    uint8_t* to = out.row(y);
    double x_in = x_row, y_in = y_row;
    for (uint32_t x = 0; x < out.width; ++x, to += kChannelCount, x_in += a[0], y_in += a[3]) {
      const int64_t column = Cell(x_in, in.width), row = Cell(y_in, in.height);
      const bool inside = column >= 0 && row >= 0;
      memcpy(to, inside ? in.row(static_cast<uint32_t>(row)) + column * kChannelCount : fill.values,
             kChannelCount);
    }
  }
}

template <int kChannelCount>
void WarpNearest(const ConstImageView& in, const ImageView& out, const double* a, const Fill& fill,
                 Scratch& scratch) {
  if (a[1] == 0 && a[3] == 0) return Scale<kChannelCount>(in, out, a, fill, scratch);
  if (FitsFixed(a, out)) return WarpFixed<kChannelCount>(in, out, a, fill);
  WarpDouble<kChannelCount>(in, out, a, fill);
}

}  // namespace

void AffineNearest(const ConstImageView& in, const ImageView& out, const AffineMatrix& matrix,
                   const Fill& fill, Scratch& scratch) {
  if (in.channels == 1) return WarpNearest<1>(in, out, matrix.a, fill, scratch);
  WarpNearest<3>(in, out, matrix.a, fill, scratch);
}

}  // namespace penstock::augment
