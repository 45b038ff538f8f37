// The sockets of connected peers, for those who send from other threads. Any thread.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/doorway/doorway.h"

namespace penstock::doorway {

// Owned by the doorway's table of peers and, for the length of one call, by whoever sends: so that
// a descriptor is never closed (and its number given to another file) under a sender.
using SharedSocket = std::shared_ptr<const posix::Fd>;

class Outbox {
 public:
  void Add(PeerId peer, SharedSocket socket);
  void Remove(PeerId peer);

  // Never blocks: Unavailable when the peer is gone, ResourceExhausted when it does not read.
  absl::Status Send(PeerId peer, std::span<const std::byte> message, std::span<const int> fds);

 private:
  base::Mutex mutex_;
  std::map<PeerId, SharedSocket> sockets_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::doorway
