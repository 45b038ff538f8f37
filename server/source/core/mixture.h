// Combines several datasets into one whose samples are the concatenation of the parts' samples. The
// plan decides how often each part is drawn (server/plan/mixture.h).
// **Thread safety**: immutable; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/core/dataset.h"

namespace penstock::source {

// A contiguous range of a dataset's samples.
struct MixturePart {
  std::string name;                        // name of the dataset, for messages
  std::shared_ptr<const Dataset> dataset;  // shared with other sessions that opened it
  uint64_t first = 0, count = 0;           // within the dataset; count is at least 1
};

// Combines the parts. If all parts have the same classes, the mixture has these classes too.
// Otherwise it has the classes of all parts, one part after the other, as NAME/CLASS, and labels
// are offset to match.
// **Requires**: at least one part.
// **Errors**: InvalidArgument names two incompatible parts: different storage, only one of them
// labeled, or rows with different tensors.
absl::StatusOr<std::unique_ptr<const Dataset>> Mix(std::vector<MixturePart> parts);

}  // namespace penstock::source
