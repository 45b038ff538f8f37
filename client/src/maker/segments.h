// The pool's segments as one Python worker has them: descriptors that arrived through the doorway,
// and mappings, which are made on first use. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "common/posix/socket.h"

namespace penstock::client {

// Most segments at once. A pool has far fewer; it limits the descriptors that we keep.
inline constexpr size_t kMaxMakerSegments = 512;

class MakerSegments {
 public:
  // Understands kSegment and kSegmentGone. A segment that is gone is unmapped as soon as no batch
  // uses it.
  //
  // **Errors**: Internal for any other message, and for a segment that is smaller than announced.
  absl::Status Understand(posix::Message message);

  // The segment's memory, writable. Null if no such segment has arrived, or it is gone.
  //
  // **Errors**: from mmap(2).
  absl::StatusOr<std::shared_ptr<const posix::Mapping>> Map(uint32_t id);

  bool Has(uint32_t id) const { return segments_.contains(id); }
  size_t size() const { return segments_.size(); }

 private:
  absl::Status Keep(posix::Message message);
  absl::Status Forget(const posix::Message& message);

  struct Segment {
    uint64_t bytes = 0;
    posix::Fd memory;  // until it is mapped
    // Shared with the batch in hand, whose memory must stay even if the segment is withdrawn.
    std::shared_ptr<const posix::Mapping> mapping;
  };
  std::map<uint32_t, Segment> segments_;
};

}  // namespace penstock::client
