// The draws of erased boxes and of mixes that server/plan/README.md specifies. Pure: sums,
// products, quotients and square roots of doubles in the specified order, compiled without fused
// multiply-add.
//
// **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <span>

#include "common/base/beta.h"
#include "common/base/status.h"
#include "penstock/effects.h"

namespace penstock::finish {

// InvalidArgument names the parameter that is out of its range.
absl::Status CheckErasing(const RandomErasing& erasing);
absl::Status CheckMixes(std::span<const MixChoice> choices, double probability);
absl::Status CheckKey(const DrawKey& key);

// The random words of a transform for one sample, or for the batch that begins at a position.
base::DrawSource ToSource(const DrawKey& key, uint64_t sample);

// **Requires** parameters that the checks accept, and sides of at least 1.
Erasure DrawErasure(const RandomErasing& erasing, const base::DrawSource& source, uint32_t height,
                    uint32_t width);
Mix DrawBatchMix(std::span<const MixChoice> choices, double probability,
                 const base::DrawSource& source, uint32_t height, uint32_t width);

// The key of a row: the sample, or its draw number at this index of the order.
uint64_t DrawNumber(uint64_t index, uint64_t sample);

}  // namespace penstock::finish
