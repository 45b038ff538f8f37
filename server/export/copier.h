// What copies to one GPU. Everything is asked for and heard of later: nothing here waits for the
// GPU. Jobs are done in the order in which they were asked for. Owned and called by one thread (the
// runner's); how it works is its own affair. It only ever copies: a kernel or a memset would take
// the trainer's GPU away from it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/cuda/slab.h"
#include "common/posix/fd.h"

namespace penstock::exporting {

// Bytes in a slab by which whoever opened a handle sees that it is that slab.
using Canary = std::array<std::byte, 64>;

// Where the canary stands: in the slab's last page, of which no slot has a part.
inline constexpr uint64_t kCanaryRoom = 4096;

struct SlabOrder {
  uint32_t slab = 0;
  cuda::HandleKind kind = cuda::HandleKind::kIpc;
  uint64_t bytes = 0;  // a multiple of cuda::kSlabGranule
  Canary canary = {};  // at bytes - kCanaryRoom
};

struct SlabResult {
  uint32_t slab = 0;
  absl::Status status;  // why there is none; the GPU may serve others
  cuda::IpcHandle ipc = {};
  posix::Fd descriptor;  // of kVmm
};

struct CopyOrder {
  uint64_t id = 0;
  uint32_t segment = 0;
  uint64_t offset = 0;  // in the segment
  uint32_t slab = 0;
  uint64_t slab_offset = 0;
  uint64_t bytes = 0;
  uint64_t epoch = 0, first = 0;  // the batch's position, for profilers
};

class Copier {
 public:
  virtual ~Copier() = default;

  // Makes device memory that shows nothing of what was in it before, with its canary.
  virtual void MakeSlab(const SlabOrder& order) = 0;
  virtual void FreeSlab(uint32_t slab) = 0;
  // `memory`: the segment's memfd, the copier's own descriptor.
  virtual void OpenSegment(uint32_t segment, posix::Fd memory, uint64_t bytes) = 0;
  virtual void CloseSegment(uint32_t segment) = 0;
  // From an open segment to a living slab.
  virtual void Copy(const CopyOrder& order) = 0;
  // For tests: overwrites a part of a slab with kPoison.
  virtual void Poison(uint32_t slab, uint64_t offset, uint64_t bytes) = 0;

  struct Done {
    std::vector<SlabResult> slabs;
    std::vector<uint64_t> copies;  // complete, in order
  };
  // What became done since the last call; each rings the event.
  virtual Done Collect() = 0;
  virtual const posix::Fd& event() const = 0;

  // Not OK: the GPU is lost to this process, for good; nothing comes of what was asked for.
  virtual absl::Status status() const = 0;

  struct Facts {
    std::string name;            // of the GPU; empty before the first slab
    uint64_t context_bytes = 0;  // that our context takes beside slabs; 0: not known
  };
  virtual Facts facts() const = 0;
};

inline constexpr std::byte kPoison{0xA5};

}  // namespace penstock::exporting
