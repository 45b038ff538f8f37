// Rows that no one reads: random bytes computed from what names them, for measuring what a trainer
// could do if data cost nothing. The GPU's twin is in on_device.h and gives the same bits.
//
// Pure functions, any thread. Byte j of a sample's row, counted from 0 in NHWC order, is byte j %
// 16 (the lowest of the first word first) of Philox4x32-10 with the seed as its key and the counter
// (sample's low word, its high word, epoch, j / 16); the epoch's low 32 bits count. The label is
// drawn under the last counter, without the epoch: a sample keeps it.
#pragma once

#include <cstdint>
#include <span>

#include "client/finish/finish.h"
#include "common/base/synthetic.h"

namespace penstock::finish {

struct Synthetic {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t first_sample = 0;      // of row 0; below 2⁶³
  uint64_t samples = UINT64_MAX;  // of the dataset, at least 1: behind the last one comes the first
  uint32_t classes = 1000;        // labels are below; at least 1
};

// The sample of row r.
constexpr uint64_t SampleOf(const Synthetic& what, uint64_t row) {
  return (what.first_sample + row) % what.samples;
}

// 0 ≤ label < classes: what the daemon announces.
constexpr int64_t SyntheticLabel(const Synthetic& what, uint64_t sample) {
  return base::SyntheticLabel(what.seed, sample, what.classes);
}

// Writes FinishedBytes of the shape to `into` and a label for each row to `labels`, or none if that
// is empty. Errors as Apply.
absl::Status Synthesize(const Synthetic& what, const Spec& spec, const Shape& shape,
                        std::span<std::byte> into, std::span<int64_t> labels);

// What Synthesize and its twin check; InvalidArgument names the number that cannot be.
absl::Status CheckSynthetic(const Synthetic& what, const Spec& spec, const Shape& shape,
                            uint64_t into_bytes, uint64_t labels);

}  // namespace penstock::finish
