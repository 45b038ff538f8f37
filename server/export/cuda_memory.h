// What one GPU's copier owns on that GPU: slabs, and the segments as the GPU sees them.
//
// **Thread safety**: used and destroyed by one thread, the copier's, on which the device is current
// after Begin.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/base/status.h"
#include "common/cuda/device.h"
#include "common/cuda/registration.h"
#include "common/cuda/slab.h"
#include "common/cuda/stream.h"
#include "common/posix/memory.h"
#include "server/export/copier.h"

namespace penstock::exporting {

class CudaMemory {
 public:
  explicit CudaMemory(const cuda::Uuid& uuid) : uuid_(uuid) {}
  // Leaves remaining slabs to the end of the process, because consumers may have them open: freeing
  // memory that another process has imported is undefined, whereas the memory of a dead process
  // stays valid.
  ~CudaMemory();

  // Finds the device, creates its context and a stream; once. **Errors** say why the device cannot
  // be used; the call may be retried.
  absl::Status Begin();
  bool begun() const { return stream_.has_value(); }
  const cuda::Device& device() const { return device_; }
  // Memory that our context uses, measured when it was created; 0: unknown.
  uint64_t context_bytes() const { return context_bytes_; }
  cuda::StreamHandle stream() const { return stream_->get(); }

  // **Errors**: ResourceExhausted if the GPU has too little free memory.
  absl::StatusOr<SlabResult> MakeSlab(const SlabOrder& order);
  void FreeSlab(uint32_t slab) { slabs_.erase(slab); }
  // If the memory cannot be registered, copies from it still work, but slower, and a warning is
  // logged.
  absl::Status OpenSegment(uint32_t segment, const posix::Fd& memory, uint64_t bytes);
  void CloseSegment(uint32_t segment) { segments_.erase(segment); }

  // Enqueues the copy on the stream.
  absl::Status StartCopy(const CopyOrder& order);
  // The same from another GPU's slab. Errors that are not sticky mean that it cannot be read.
  absl::Status StartPass(const PassOrder& order);
  absl::Status Poison(uint32_t slab, uint64_t offset, uint64_t bytes);

 private:
  struct MappedSegment {
    posix::Mapping mapping;
    cuda::Registration registration;  // destroyed before the mapping
  };
  absl::Status CheckFreeMemory(uint64_t bytes) const;
  // Fills device memory with copies from the host, piece by piece, and waits.
  absl::Status Fill(std::byte* to, uint64_t bytes, std::byte value);

  const cuda::Uuid uuid_;
  cuda::Device device_;
  std::optional<cuda::DeviceScope> scope_;
  std::optional<cuda::Stream> stream_;
  uint64_t context_bytes_ = 0;
  std::map<uint32_t, cuda::Slab> slabs_;
  std::map<uint32_t, MappedSegment> segments_;
  std::set<uint32_t> readable_;  // other GPUs' slabs; a few numbers each, never erased
};

}  // namespace penstock::exporting
