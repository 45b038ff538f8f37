// Peers that other threads name for the doorway's thread.
// **Thread safety**: any thread.
#pragma once

#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "server/doorway/doorway.h"

namespace penstock::doorway {

class PeerQueue {
 public:
  void Add(PeerId peer) {
    base::MutexLock lock(mutex_);
    peers_.push_back(peer);
  }
  std::vector<PeerId> TakeAll() {
    base::MutexLock lock(mutex_);
    return std::exchange(peers_, {});
  }

 private:
  base::Mutex mutex_;
  std::vector<PeerId> peers_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::doorway
