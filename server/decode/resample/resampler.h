// Resizes a box of RGBX rows, fed from top to bottom, to a row of the batch: RGB, height × width ×
// 3. As in Pillow, the horizontal pass comes first and is rounded to 8 bits, then the vertical
// pass. Rows go through a small ring, so the image is never in memory as a whole.
// **Thread safety**: one thread. Keeps its memory between images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/aligned_buffer.h"
#include "common/resample/taps.h"
#include "server/decode/core/placement.h"
#include "server/decode/resample/kernels.h"

namespace penstock::decode {

using resample::TapRange;
using resample::Taps;

// The fastest kernels for this CPU.
const Kernels& BestKernels();

// All kernels in this build, for tests and benchmarks.
std::span<const Kernels* const> AllKernels();

class Resampler {
 public:
  explicit Resampler(const Kernels& kernels) : kernels_(kernels) {}

  // **Requires**: `out` has 3 · y.count · x.count bytes and stays valid until the last row has been
  // taken.
  void Begin(const Placement& placement, uint8_t* out);

  // The inputs that the outputs depend on, relative to the placement's crop.
  TapRange columns() const { return x_taps_.needed(); }
  TapRange rows() const { return y_taps_.needed(); }

  // Feeds the next `count` (1 … kRowsAtOnce) rows of rows(). Each pointer points at the first of
  // columns().
  // **Requires**: kSlackBytes are readable past each row's end; every call but the last passes
  // kRowsAtOnce rows.
  void Take(const uint8_t* const rows[kRowsAtOnce], uint32_t count);

 private:
  void PackHorizontal(const Placement& placement);
  void PackVertical();
  void PackOutput(const Taps& taps, uint32_t output, uint32_t skipped, uint32_t groups,
                  int32_t* packed);
  void PrepareRing();
  uint8_t* RingRow(uint32_t row) const {
    return ring_.data() + size_t{row % ring_rows_} * row_stride_;
  }
  void EmitReadyRows();
  void EmitRow(uint32_t output);
  uint32_t GroupsFor(uint32_t taps) const;

  const Kernels& kernels_;
  Taps x_taps_;
  Taps y_taps_;
  uint8_t* out_ = nullptr;
  uint32_t outputs_ = 0;         // columns of the result
  uint32_t padded_outputs_ = 0;  // … rounded up to a multiple of four
  uint32_t x_groups_ = 0;
  uint32_t y_groups_ = 0;  // groups of the output with the most taps
  std::vector<uint32_t> x_first_;
  std::vector<int32_t> x_weights_;
  std::vector<int32_t> y_weights_;
  std::vector<int32_t> padded_weights_;
  std::vector<const uint8_t*> y_rows_;

  base::AlignedBuffer ring_;
  size_t row_stride_ = 0;
  uint32_t ring_rows_ = 0;
  uint32_t taken_ = 0;    // rows of rows()
  uint32_t emitted_ = 0;  // rows of the result
};

}  // namespace penstock::decode
