// The sockets of connected peers, for those who send from other threads, and what of it the peers
// have not taken yet. Descriptors that nobody took count against the daemon's own limit of open
// files, for the whole system and after their peer was disconnected: so they are counted here, by
// user, until they are taken or the peer's end is closed. Any thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/shares.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/doorway/doorway.h"

namespace penstock::doorway {

// Owned by the doorway's table of peers and, for the length of one call, by whoever sends: so that
// a descriptor is never closed (and its number given to another file) under a sender.
using SharedSocket = std::shared_ptr<const posix::Fd>;

class Outbox {
 public:
  struct Limits {
    uint64_t descriptors = 1024;   // on their way to all peers together
    size_t messages_of_one = 256;  // on their way to one peer
  };
  // `wake`: there is somebody to disconnect (TakeSlow). Called with no lock of the caller's.
  Outbox(const Limits& limits, std::function<void()> wake);

  void Add(PeerId peer, SharedSocket socket, uint32_t user);
  // Whether it took everything. If not, its socket is kept, and Settle says when it has.
  bool Remove(PeerId peer);

  // Never blocks: Unavailable when the peer is gone, ResourceExhausted when it, or its user's other
  // processes, do not read. What one peer leaves unread is never another user's error.
  absl::Status Send(PeerId peer, std::span<const std::byte> message, std::span<const int> fds);

  // Who does not read, and is to be disconnected; each once.
  std::vector<PeerId> TakeSlow();
  // Of those removed, who took everything since, or closed their end.
  std::vector<PeerId> Settle();
  bool settling() const;

 private:
  struct Line {
    SharedSocket socket;
    uint32_t user = 0;
    std::deque<uint8_t> unread = {};  // of each message: its descriptors
    uint64_t descriptors = 0;         // their sum
    bool slow = false;                // was told of
  };
  void LookAt(Line& line) PENSTOCK_REQUIRES(mutex_);
  bool HasRoom(uint32_t user, uint64_t descriptors) PENSTOCK_REQUIRES(mutex_);
  absl::Status SendNow(PeerId peer, Line& line, std::span<const std::byte> message,
                       std::span<const int> fds) PENSTOCK_REQUIRES(mutex_);
  absl::Status CutWorst(std::optional<uint32_t> user) PENSTOCK_REQUIRES(mutex_);
  void Cut(PeerId peer, Line& line) PENSTOCK_REQUIRES(mutex_);

  const Limits limits_;
  const std::function<void()> wake_;
  const uint64_t charge_;  // what the kernel counts for a message; 0: it does not say

  mutable base::Mutex mutex_;
  std::map<PeerId, Line> lines_ PENSTOCK_GUARDED_BY(mutex_);
  std::map<PeerId, Line> removed_ PENSTOCK_GUARDED_BY(mutex_);
  base::Shares undelivered_ PENSTOCK_GUARDED_BY(mutex_);
  base::TimePoint looked_at_all_ PENSTOCK_GUARDED_BY(mutex_){};
  std::vector<PeerId> slow_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::doorway
