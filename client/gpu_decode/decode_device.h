// What making rows needs of a GPU, so that tests can run everything else without one.
// **Thread safety**: one thread.
#pragma once

#include <cstddef>
#include <memory>

#include "client/gpu_decode/kernel_row.h"
#include "client/gpu_decode/marks.h"
#include "client/gpu_decode/row_maker.h"
#include "common/base/status.h"
#include "common/cuda/stream.h"

namespace penstock::gpu_decode {

// A device and one stream on it, on which all work runs in order.
class DecodeDevice {
 public:
  virtual ~DecodeDevice() = default;

  // The same device and allocator, with a stream of its own.
  virtual absl::StatusOr<std::unique_ptr<DecodeDevice>> WithOwnStream() const = 0;

  virtual cuda::StreamHandle stream() const = 0;
  // Null if there is no memory. The stream's work may still use what is released. Any thread.
  virtual void* Allocate(size_t bytes) = 0;
  virtual void Release(void* memory, size_t bytes) = 0;
  // The same for pinned host memory.
  virtual void* AllocatePinned(size_t bytes) = 0;
  virtual void ReleasePinned(void* memory) = 0;

  // Each enqueues.
  virtual absl::Status CopyIn(void* device, const std::byte* host, size_t bytes) = 0;
  virtual absl::Status CopyOut(std::byte* pinned, const void* device, size_t bytes) = 0;
  virtual absl::Status Clear(void* device, size_t bytes) = 0;  // to zero
  virtual absl::Status MakeRows(const KernelLaunch& launch) = 0;
  virtual absl::Status SetMarks(const MarksLaunch& launch) = 0;
  virtual absl::Status CountMarks(const MarksLaunch& launch) = 0;

  virtual absl::Status Synchronize() = 0;
};

// The current CUDA device and `stream`. **Errors**: as cuda::Usable.
absl::StatusOr<std::unique_ptr<DecodeDevice>> MakeCudaDevice(cuda::StreamHandle stream,
                                                             const DeviceAllocator& allocator);

}  // namespace penstock::gpu_decode
