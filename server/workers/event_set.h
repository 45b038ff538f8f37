// A set of descriptors for one thread to wait on: epoll(7). **Thread safety**: one thread.
#pragma once

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
        : set_(std::exchange(other.set_, -1)), fd_(std::exchange(other.fd_, -1)) {}
    Watch& operator=(Watch&& other) noexcept {
      std::swap(set_, other.set_);
      std::swap(fd_, other.fd_);
      return *this;
    }
    ~Watch();

   private:
    friend class EventSet;
    Watch(int set, int fd) : set_(set), fd_(fd) {}
    int set_ = -1, fd_ = -1;
  };

  // Call it once, before anything else.
  absl::Status Open();
  bool is_open() const { return epoll_.valid(); }
  absl::StatusOr<Watch> Add(const posix::Fd& fd);

  // Readable while one of the descriptors is.
  int fd() const { return epoll_.get(); }

 private:
  posix::Fd epoll_;
};

}  // namespace penstock::workers
