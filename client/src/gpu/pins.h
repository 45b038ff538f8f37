// Segments registered for copies to GPUs: each once a connection, for as long as a session uses it.
// Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "client/src/gpu/gpu.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/memory.h"

namespace penstock::client {

// A segment that GPUs can be fed from. It is unmapped after it is no longer registered.
struct PinnedSegment {
  std::shared_ptr<const posix::Mapping> mapping;  // shared with the doorway
  std::unique_ptr<Gpu::Pages> pages;
};

class Pins {
 public:
  // The segment, registered; what it gives is shared by the sessions that use it.
  absl::StatusOr<std::shared_ptr<const PinnedSegment>> Pin(
      uint32_t id, std::shared_ptr<const posix::Mapping> mapping, Gpu& gpu);

 private:
  base::Mutex mutex_;
  std::map<uint32_t, std::weak_ptr<const PinnedSegment>> known_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::client
