// Segments that are registered with CUDA for copies to GPUs. A connection registers each segment
// once, for as long as a session uses it.
//
// **Thread safety**: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "client/src/gpu/gpu.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/memory.h"

namespace penstock::client {

// A registered segment. It is unregistered before it is unmapped.
struct PinnedSegment {
  std::shared_ptr<const posix::Mapping> mapping;  // shared with the doorway
  std::unique_ptr<Gpu::Pages> pages;
};

class Pins {
 public:
  // Returns the registered segment, shared by the sessions that use it.
  absl::StatusOr<std::shared_ptr<const PinnedSegment>> Pin(
      uint32_t id, std::shared_ptr<const posix::Mapping> mapping, Gpu& gpu);

 private:
  base::Mutex mutex_;
  std::map<uint32_t, std::weak_ptr<const PinnedSegment>> known_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::client
