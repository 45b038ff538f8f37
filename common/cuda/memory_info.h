// Free and total memory of the current device, as seen from a context on it. Any thread.
#pragma once

#include <cstdint>

#include "common/base/status.h"

namespace penstock::cuda {

struct MemoryInfo {
  uint64_t free_bytes = 0, total_bytes = 0;
};
absl::StatusOr<MemoryInfo> QueryMemory();

}  // namespace penstock::cuda
