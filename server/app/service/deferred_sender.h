// Passes what the runner asks of the doorway: messages with descriptors, and whom to close or
// forget. The runner starts before the doorway and ends after it, so the doorway may be missing.
#pragma once

#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/doorway/doorway.h"

namespace penstock::app {

class DeferredSender {
 public:
  void Use(doorway::Doorway* doorway) {
    base::MutexLock lock(mutex_);
    doorway_ = doorway;
  }

  // Any thread. Doorway::Send never blocks, so the lock is held only briefly.
  absl::Status Send(uint64_t peer, const void* message, size_t bytes, const std::vector<int>& fds) {
    base::MutexLock lock(mutex_);
    if (doorway_ == nullptr) return absl::UnavailableError("the doorway is closed");
    return doorway_->Send(doorway::PeerId(peer), message, bytes, fds);
  }

  // Any thread.
  void Forget(uint64_t peer) {
    base::MutexLock lock(mutex_);
    if (doorway_ != nullptr) doorway_->Forget(doorway::PeerId(peer));
  }

  // Any thread.
  void Close(uint64_t peer) {
    base::MutexLock lock(mutex_);
    if (doorway_ != nullptr) doorway_->Close(doorway::PeerId(peer));
  }

 private:
  base::Mutex mutex_;
  doorway::Doorway* doorway_ PENSTOCK_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace penstock::app
