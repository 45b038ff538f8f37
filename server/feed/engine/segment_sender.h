// Sends the pool's segments to the processes whose batches are in them, each segment once, and says
// when one is gone: consumers then unmap it, or its memory would stay.
//
// **Ownership**: it owns the list of who was sent what; the pool owns the segments.
// **Thread safety**: the runner's thread only.
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

// Sends one doorway message with descriptors to a peer; never blocks.
using SendToPeer = std::function<absl::Status(uint64_t peer, const void* message, size_t bytes,
                                              const std::vector<int>& fds)>;

class SegmentSender {
 public:
  explicit SegmentSender(SendToPeer send) : send_(std::move(send)) {}

  // Sends the segment, unless the peer has it.
  absl::Status Send(uint64_t peer, const pool::Segment& segment);
  // The segment is gone. Who cannot be told is leaving anyway.
  void Gone(pool::SegmentId segment);
  void PeerGone(uint64_t peer) { sent_.erase(peer); }

 private:
  const SendToPeer send_;
  std::map<uint64_t, std::set<uint32_t>> sent_;  // segments, by peer
};

}  // namespace penstock::feed
