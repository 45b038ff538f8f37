// The canary's dataset: one JPEG file of 16 × 16 pixels, in memory, of four squares in four
// colours.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "common/base/status.h"
#include "server/decode/core/spec.h"
#include "server/source/core/dataset.h"

namespace penstock::app {

inline constexpr int64_t kCanaryLabel = 4;

std::shared_ptr<const source::Dataset> MakeCanaryDataset();
// The whole picture, as it is.
decode::Spec CanaryDecoding();
// DataLoss: these are not the picture's bytes, as that is decoded, and why.
absl::Status CheckCanaryPicture(std::span<const std::byte> row);

}  // namespace penstock::app
