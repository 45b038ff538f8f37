// A set of descriptors for one thread to wait on: epoll(7). **Thread safety**: one thread.
#pragma once

#include <memory>
#include <utility>

#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::workers {

class EventSet {
 public:
  // Keeps a descriptor in the set during its life. **Requires**: the set and the descriptor outlive
  // it.
  class Watch {
   public:
    Watch() = default;
    Watch(Watch&& other) noexcept
        : set_(std::exchange(other.set_, -1)), watched_(std::move(other.watched_)) {}
    Watch& operator=(Watch&& other) noexcept {
      std::swap(set_, other.set_);
      std::swap(watched_, other.watched_);
      return *this;
    }
    ~Watch();

    // Whether the set has seen since the last call that the descriptor is readable.
    bool TakeReady() { return watched_ != nullptr && std::exchange(watched_->ready, false); }

   private:
    friend class EventSet;
    struct Watched {
      int fd = -1;
      bool ready = false;
    };
    Watch(int set, std::unique_ptr<Watched> watched) : set_(set), watched_(std::move(watched)) {}
    int set_ = -1;
    std::unique_ptr<Watched> watched_;  // the kernel has its address
  };

  // Call it once, before anything else.
  absl::Status Open();
  bool is_open() const { return epoll_.valid(); }
  absl::StatusOr<Watch> Add(const posix::Fd& fd);

  // Finds out which descriptors are readable, with one system call for many of them.
  void Look();

  // Readable while one of the descriptors is.
  int fd() const { return epoll_.get(); }

 private:
  posix::Fd epoll_;
};

}  // namespace penstock::workers
