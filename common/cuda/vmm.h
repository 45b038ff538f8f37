// Memory by CUDA's virtual memory management, exported as a descriptor. Internal to this room; no
// CUDA header needed. Any thread; each function makes the device current for itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::cuda::vmm {

struct Exported {
  std::byte* data = nullptr;  // mapped for reading and writing
  uint64_t handle = 0;
  posix::Fd descriptor;
};

// FailedPrecondition: the device cannot. ResourceExhausted: it has no room.
absl::StatusOr<Exported> Make(int device, uint64_t bytes);

// Mapped read-only; the mapping keeps the memory.
absl::StatusOr<std::byte*> Import(int device, const posix::Fd& descriptor, uint64_t bytes);

void Unmap(int device, std::byte* data, uint64_t bytes);
void Release(int device, uint64_t handle);

}  // namespace penstock::cuda::vmm
