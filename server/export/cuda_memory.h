// What one GPU's copier owns on it: the slabs, and the segments as the GPU sees them. One thread
// (the copier's), on which the device is current from Begin on; all of it goes on that thread, too.
#pragma once

#include <map>
#include <optional>
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
  // Slabs that are left stay until the process ends: consumers may have them open, and memory that
  // is freed under an importer is undefined, while what a dead process leaves is not.
  ~CudaMemory();

  // Finds the device, makes its context and a stream; once. Errors say why it cannot be used, and
  // it may be tried again.
  absl::Status Begin();
  bool begun() const { return stream_.has_value(); }
  const cuda::Device& device() const { return device_; }
  // What our context takes, as seen when it was made; 0: not known.
  uint64_t context_bytes() const { return context_bytes_; }
  cuda::StreamHandle stream() const { return stream_->get(); }

  // ResourceExhausted where the GPU has too little memory left.
  absl::StatusOr<SlabResult> MakeSlab(const SlabOrder& order);
  void FreeSlab(uint32_t slab) { slabs_.erase(slab); }
  // Where memory cannot be registered, it is copied from all the same, slower: the log says so.
  absl::Status OpenSegment(uint32_t segment, const posix::Fd& memory, uint64_t bytes);
  void CloseSegment(uint32_t segment) { segments_.erase(segment); }

  // Puts the copy into the stream.
  absl::Status StartCopy(const CopyOrder& order);
  absl::Status Poison(uint32_t slab, uint64_t offset, uint64_t bytes);

 private:
  struct Segment {
    posix::Mapping mapping;
    cuda::Registration registration;  // ends before the mapping does
  };
  absl::Status CheckRoom(uint64_t bytes) const;
  // Fills device memory from the host, one piece after the other, and waits.
  absl::Status Fill(std::byte* to, uint64_t bytes, std::byte value);

  const cuda::Uuid uuid_;
  cuda::Device device_;
  std::optional<cuda::DeviceScope> scope_;
  std::optional<cuda::Stream> stream_;
  uint64_t context_bytes_ = 0;
  std::map<uint32_t, cuda::Slab> slabs_;
  std::map<uint32_t, Segment> segments_;
};

}  // namespace penstock::exporting
