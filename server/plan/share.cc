#include <algorithm>

#include "common/base/check.h"
#include "common/base/divide.h"
#include "server/plan/plan.h"

namespace penstock::plan {
namespace {

// Samples that all ranks take in one step. Validate ensures that it fits 64 bits.
uint64_t SamplesOfOneStep(const Share& share) { return uint64_t{share.world} * share.batch_size; }

// How many of the epoch's batches, full and short, go to this rank.
uint64_t PartialCount(const Share& share, uint64_t left) {
  const uint64_t batches = base::DivideUp(left, share.batch_size);
  if (batches <= share.rank) return 0;
  return base::DivideUp(batches - share.rank, share.world);
}

// How many rows each rank takes in a step that begins with `left` ≥ 1 samples.
uint32_t RowsOfARank(const Share& share, uint64_t left) {
  if (share.remainder != Remainder::kPadRanks) return share.batch_size;
  return static_cast<uint32_t>(
      std::min<uint64_t>(share.batch_size, base::DivideUp(left, share.world)));
}

}  // namespace

absl::Status Validate(const Share& share) {
  if (share.samples < 1 || share.samples > kMaxSamples) {
    return absl::InvalidArgumentError(
        absl::StrCat("an epoch has ", share.samples, " samples; it must have 1 to ", kMaxSamples));
  }
  if (share.consumed > share.samples) {
    return absl::InvalidArgumentError(absl::StrCat("the state says that ", share.consumed,
                                                   " samples of the epoch are consumed, but "
                                                   "it has ",
                                                   share.samples,
                                                   "; resume from a state of this dataset"));
  }
  if (share.batch_size < 1) {
    return absl::InvalidArgumentError("the batch size is 0; it must be at least 1");
  }
  if (share.world < 1) {
    return absl::InvalidArgumentError("the world has 0 ranks; it must have at least 1");
  }
  if (share.rank >= share.world) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", share.rank, " is not in a world of ",
                                                   share.world, "; ranks are 0 to ",
                                                   share.world - 1));
  }
  if (SamplesOfOneStep(share) > kMaxSamples) {
    return absl::InvalidArgumentError(
        absl::StrCat(share.world, " ranks with batches of ", share.batch_size, " take more than ",
                     kMaxSamples, " samples a step; use smaller batches"));
  }
  if (share.remainder > Remainder::kPadRanks) {
    return absl::InvalidArgumentError(
        absl::StrCat("remainder ", static_cast<uint32_t>(share.remainder),
                     " is unknown; it must be 0 (drop), 1 (pad batches), 2 (partial) or "
                     "3 (pad ranks)"));
  }
  return absl::OkStatus();
}

uint64_t BatchCount(const Share& share) {
  const uint64_t left = share.samples - share.consumed;
  switch (share.remainder) {
    case Remainder::kDrop:
      return left / SamplesOfOneStep(share);
    case Remainder::kPadBatch:
    case Remainder::kPadRanks:
      return base::DivideUp(left, SamplesOfOneStep(share));
    case Remainder::kPartial:
      return PartialCount(share, left);
  }
  base::CheckFailed(__FILE__, __LINE__, "a validated remainder");
}

Batch BatchAt(const Share& share, uint64_t step) {
  PENSTOCK_CHECK(step < BatchCount(share));
  const uint64_t start = share.consumed + step * SamplesOfOneStep(share);  // < samples
  const uint32_t width = RowsOfARank(share, share.samples - start);
  const uint64_t first = start + uint64_t{share.rank} * width;
  const uint64_t left = first < share.samples ? share.samples - first : 0;
  const auto valid = static_cast<uint32_t>(std::min<uint64_t>(left, width));
  Batch batch;
  batch.first = first;
  batch.rows = share.remainder == Remainder::kPartial ? valid : width;
  batch.valid_rows = valid;
  batch.consumed = std::min(share.samples, start + SamplesOfOneStep(share));
  return batch;
}

}  // namespace penstock::plan
