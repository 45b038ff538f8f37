// The sockets of connected peers, for senders on other threads, and a count of the messages and
// descriptors that peers have not received yet. The kernel counts unreceived descriptors against
// the daemon's limit of open files, even after their peer is disconnected. So the outbox counts
// them by user, until they are received or the peer closes its end.
//
// **Thread safety**: any thread.
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

// Owned by the doorway's table of peers and, during a call, by the sender. So a descriptor is not
// closed, and its number not reused, while someone sends on it.
using SharedSocket = std::shared_ptr<const posix::Fd>;  // of a ForeignFd

class Outbox {
 public:
  struct Limits {
    uint64_t descriptors = 1024;   // unreceived, over all peers
    size_t messages_of_one = 256;  // unreceived, per peer
  };
  // `wake` is called, without locks, when TakeSlow has peers to disconnect.
  Outbox(const Limits& limits, std::function<void()> wake);

  void Add(PeerId peer, SharedSocket socket, uint32_t user);
  // Returns whether the peer has received everything. If not, its socket is kept, and Settle
  // reports when it has.
  bool Remove(PeerId peer);

  // Never blocks. One peer's unread messages never cause an error for another user.
  //
  // **Errors**: Unavailable if the peer is gone; ResourceExhausted if the peer, or other processes
  // of its user, do not read.
  absl::Status Send(PeerId peer, std::span<const std::byte> message, std::span<const int> fds);

  // Peers that do not read and must be disconnected; reports each once.
  std::vector<PeerId> TakeSlow();
  // Removed peers that have since received everything or closed their end.
  std::vector<PeerId> Settle();
  bool settling() const;

 private:
  struct Line {
    SharedSocket socket;
    uint32_t user = 0;
    std::deque<uint8_t> unread = {};  // number of descriptors in each unread message
    uint64_t descriptors = 0;         // their sum
    bool slow = false;                // already reported
  };
  void LookAt(Line& line) PENSTOCK_REQUIRES(mutex_);
  bool CanQueue(uint32_t user, uint64_t descriptors) PENSTOCK_REQUIRES(mutex_);
  absl::Status SendNow(PeerId peer, Line& line, std::span<const std::byte> message,
                       std::span<const int> fds) PENSTOCK_REQUIRES(mutex_);
  absl::Status CutWorst(std::optional<uint32_t> user) PENSTOCK_REQUIRES(mutex_);
  void Cut(PeerId peer, Line& line) PENSTOCK_REQUIRES(mutex_);

  const Limits limits_;
  const std::function<void()> wake_;
  const uint64_t charge_;  // what the kernel counts for one message; 0: unknown

  mutable base::Mutex mutex_;
  std::map<PeerId, Line> lines_ PENSTOCK_GUARDED_BY(mutex_);
  std::map<PeerId, Line> removed_ PENSTOCK_GUARDED_BY(mutex_);
  base::Shares undelivered_ PENSTOCK_GUARDED_BY(mutex_);
  base::TimePoint looked_at_all_ PENSTOCK_GUARDED_BY(mutex_){};
  std::vector<PeerId> slow_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::doorway
