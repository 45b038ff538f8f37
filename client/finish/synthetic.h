// Synthetic rows: random bytes that are computed instead of read, for measuring what a trainer
// could do if data cost nothing. on_device.h does the same on a GPU, with the same bits.
//
// Byte j of a sample's row, counted from 0 in NHWC order, is byte j % 16 of Philox4x32-10 (lowest
// byte of the first word first), with the seed as key and the counter (sample's low word, its high
// word, epoch's low 32 bits, j / 16). The label is drawn with the last counter and without the
// epoch, so a sample keeps its label.
//
// **Thread safety**: pure functions; any thread.
#pragma once

#include <cstdint>
#include <span>

#include "client/finish/finish.h"
#include "common/base/synthetic.h"

namespace penstock::finish {

struct Synthetic {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t first_sample = 0;  // of row 0; below 2⁶³
  uint64_t samples =
      UINT64_MAX;  // in the dataset, at least 1; row numbers wrap around after the last one
  uint32_t classes = 1000;  // labels are below this; at least 1
};

// The sample in row `row`.
constexpr uint64_t SampleOf(const Synthetic& what, uint64_t row) {
  return (what.first_sample + row) % what.samples;
}

// 0 ≤ label < classes. The daemon announces the same label.
constexpr int64_t SyntheticLabel(const Synthetic& what, uint64_t sample) {
  return base::SyntheticLabel(what.seed, sample, what.classes);
}

// Writes FinishedBytes of the shape to `into`, and to `labels` one label for each row, unless it is
// empty. Errors as for Apply.
absl::Status Synthesize(const Synthetic& what, const Spec& spec, const Shape& shape,
                        std::span<std::byte> into, std::span<int64_t> labels);

// The checks of Synthesize and SynthesizeOnDevice. InvalidArgument names the invalid number.
absl::Status CheckSynthetic(const Synthetic& what, const Spec& spec, const Shape& shape,
                            uint64_t into_bytes, uint64_t labels);

}  // namespace penstock::finish
