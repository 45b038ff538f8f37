// Memory allocated with CUDA's virtual memory management and exported as a descriptor. Internal to
// this folder; needs no CUDA header. Any thread; each function makes the device current for itself.
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

// **Errors**: FailedPrecondition if the device cannot export memory; ResourceExhausted if it has no
// free memory.
absl::StatusOr<Exported> Make(int device, uint64_t bytes);

// Maps it read-only; the mapping keeps the memory alive.
absl::StatusOr<std::byte*> Import(int device, const posix::Fd& descriptor, uint64_t bytes);

// Lets another device read a mapping of Make's, too.
absl::Status AllowToRead(int device, std::byte* data, uint64_t bytes);

void Unmap(int device, std::byte* data, uint64_t bytes);
void Release(int device, uint64_t handle);

}  // namespace penstock::cuda::vmm
