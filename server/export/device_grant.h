// A session's grant on a GPU, as described to its consumer. Plain values; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "common/cuda/slab.h"
#include "server/export/copier.h"
#include "server/export/handle_choice.h"

namespace penstock::exporting {

// A slab as described to a consumer.
struct SlabFacts {
  uint32_t id = 0;
  uint64_t bytes = 0;
  cuda::HandleKind kind = cuda::HandleKind::kIpc;
  cuda::IpcHandle ipc = {};  // of kIpc
  uint64_t canary_offset = 0;
  Canary canary = {};
};

struct DeviceGrant {
  uint32_t depth = 0;  // batches on the GPU at once
  HandleChoice handle;
  std::vector<SlabFacts> slabs;
};

}  // namespace penstock::exporting
