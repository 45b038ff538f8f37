// Sends the pool's segments to the processes whose batches are in them, or that make these batches:
// each segment once. Tells them when one is gone, so that they unmap it and its memory is freed.
//
// **Ownership**: owns the record of what was sent; the pool owns the segments. **Thread safety**:
// the runner's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "server/feed/engine/wire.h"
#include "server/pool/pool.h"

namespace penstock::feed {

// Sends a doorway message with descriptors to a peer. Never blocks.
using SendToPeer = std::function<absl::Status(uint64_t peer, const void* message, size_t bytes,
                                              const std::vector<int>& fds)>;

class SegmentSender {
 public:
  explicit SegmentSender(SendToPeer send) : send_(std::move(send)) {}

  // Sends the segment for reading, unless the peer already has it.
  absl::Status Send(uint64_t peer, const pool::Segment& segment) {
    return Send(peer, segment, segment.read_only);
  }
  // The same for writing, to a Python worker of the segment's user.
  absl::Status SendToMaker(uint64_t peer, const pool::Segment& segment) {
    return Send(peer, segment, segment.memory);
  }
  // The segment is gone. A peer that cannot be told is leaving anyway.
  void Gone(pool::SegmentId segment);
  void PeerGone(uint64_t peer) { sent_.erase(peer); }

 private:
  absl::Status Send(uint64_t peer, const pool::Segment& segment, const posix::Fd& memory);

  const SendToPeer send_;
  std::map<uint64_t, std::set<uint32_t>> sent_;  // segments by peer
};

}  // namespace penstock::feed
