// Copies from one GPU's memory to another's, within this process.
//
// **Thread safety**: any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "common/cuda/device.h"
#include "common/cuda/slab.h"
#include "common/cuda/stream.h"

namespace penstock::cuda {

// A slab as another GPU reads it.
struct SlabAddress {
  int ordinal = -1;  // of the GPU that it is on
  HandleKind kind = HandleKind::kIpc;
  std::byte* data = nullptr;
  uint64_t bytes = 0;
};

// The visible GPUs from which this one copies through NVLink. Copies from others cross PCIe, as
// those from the host do. Creates no context. Empty if that cannot be found out.
std::vector<Uuid> LinkedGpus(int ordinal);

// Lets the current device read the slab. To be called once for each slab; nothing waits.
//
// **Errors**: FailedPrecondition if the GPUs cannot reach each other.
absl::Status OpenToCurrent(const SlabAddress& slab);

// Enqueues a copy from `offset` of an opened slab to memory of the current device.
absl::Status CopyFromGpu(std::byte* to, const SlabAddress& from, uint64_t offset, size_t bytes,
                         StreamHandle stream);

}  // namespace penstock::cuda
