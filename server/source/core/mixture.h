// Several datasets as one: their samples part behind part. Which of them come how often is the
// plan's affair (server/plan/mixture.h). Immutable; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/core/dataset.h"

namespace penstock::source {

// Some of a dataset's samples, which lie together.
struct MixturePart {
  std::string name;                        // of the dataset, for people
  std::shared_ptr<const Dataset> dataset;  // shared with whoever else opened it
  uint64_t first = 0, count = 0;           // within it; at least one
};

// At least one part. Classes that all parts have alike are theirs together; otherwise they stand
// one part behind the other, as NAME/CLASS, and labels move along. InvalidArgument names two parts
// that do not go together: stored in different ways, one with labels and one without, or rows of
// different tensors.
absl::StatusOr<std::unique_ptr<const Dataset>> Mix(std::vector<MixturePart> parts);

}  // namespace penstock::source
