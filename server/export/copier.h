// Copies batches to one GPU. Every call returns at once and its result arrives later, through
// Collect: nothing here waits for the GPU. Jobs run in the order of the calls. A copier only ever
// copies, because a kernel or a memset would take GPU time from the trainer.
//
// **Thread safety**: owned and called by one thread, the runner's; implementations may use threads
// of their own.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/cuda/device.h"
#include "common/cuda/peers.h"
#include "common/cuda/slab.h"
#include "common/posix/fd.h"

namespace penstock::exporting {

// Marker bytes in a slab (its guard bytes). Whoever opens a handle compares them, to check that it
// opened that slab.
using Canary = std::array<std::byte, 64>;

// Space for the canary: the slab's last page, which no slot overlaps.
inline constexpr uint64_t kCanaryHeadroom = 4096;

struct SlabOrder {
  uint32_t slab = 0;
  cuda::HandleKind kind = cuda::HandleKind::kIpc;
  uint64_t bytes = 0;  // a multiple of cuda::kSlabGranule
  Canary canary = {};  // stored at bytes - kCanaryHeadroom
};

struct SlabResult {
  uint32_t slab = 0;
  absl::Status status;  // why there is no slab; the GPU may still provide others
  cuda::IpcHandle ipc = {};
  posix::Fd descriptor;  // of kVmm
  cuda::SlabAddress address;
};

struct CopyOrder {
  uint64_t id = 0;
  uint32_t segment = 0;
  uint64_t offset = 0;  // offset in the segment
  uint32_t slab = 0;
  uint64_t slab_offset = 0;
  uint64_t bytes = 0;
  uint64_t epoch = 0, first = 0;  // the batch's position, for profilers
};

// A copy from another GPU's slab, where the batch is already.
struct PassOrder {
  uint64_t id = 0;  // shared with CopyOrder
  uint32_t from_slab = 0;
  cuda::SlabAddress from;
  uint64_t from_offset = 0;
  uint32_t slab = 0;
  uint64_t slab_offset = 0;
  uint64_t bytes = 0;
  uint64_t epoch = 0, first = 0;
};

class Copier {
 public:
  virtual ~Copier() = default;

  // Creates a slab: zeroed device memory, so that it shows nothing of its previous contents, with
  // its canary.
  virtual void MakeSlab(const SlabOrder& order) = 0;
  virtual void FreeSlab(uint32_t slab) = 0;
  // `memory`: the segment's memfd; the copier owns this descriptor.
  virtual void OpenSegment(uint32_t segment, posix::Fd memory, uint64_t bytes) = 0;
  virtual void CloseSegment(uint32_t segment) = 0;
  // Copies from an open segment to a live slab.
  virtual void Copy(const CopyOrder& order) = 0;
  // Copies from another GPU's slab, which stays as it is until the copy has ended.
  virtual void Pass(const PassOrder& order) = 0;
  // For tests: overwrites part of a slab with kPoison.
  virtual void Poison(uint32_t slab, uint64_t offset, uint64_t bytes) = 0;

  struct Done {
    std::vector<SlabResult> slabs;
    std::vector<uint64_t> copies;      // completed, in order
    std::vector<uint64_t> not_passed;  // this GPU cannot read the other's memory
  };
  // What was completed since the last call. Each completion notifies the event.
  virtual Done Collect() = 0;
  virtual const posix::Fd& event() const = 0;

  // Not OK: this process has lost the GPU for good, and no outstanding job completes.
  virtual absl::Status status() const = 0;

  struct CopierFacts {
    std::string name;                // the GPU's name; empty before the first slab
    uint64_t context_bytes = 0;      // memory that our context uses beside slabs; 0: unknown
    std::vector<cuda::Uuid> linked;  // GPUs from which copies are faster than from the host
  };
  virtual CopierFacts facts() const = 0;
};

inline constexpr std::byte kPoison{0xA5};

}  // namespace penstock::exporting
