// The canary's dataset: one JPEG file of 16 × 16 pixels in memory, with four squares in four
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
// The whole picture without changes.
decode::Spec CanaryDecoding();
// **Errors**: DataLoss, with the reason, if these bytes aren't the decoded picture.
absl::Status CheckCanaryPicture(std::span<const std::byte> row);

}  // namespace penstock::app
