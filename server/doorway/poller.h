// Owns an epoll set: level-triggered readability of descriptors, each with a token that the caller
// chooses.
//
// **Thread safety**: used by one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::doorway {

class Poller {
 public:
  static absl::StatusOr<Poller> Make();

  absl::Status Watch(const posix::Fd& fd, uint64_t token);
  // Call this before closing the descriptor: if another process has the same open file, closing it
  // does not remove it from the epoll set.
  void Forget(const posix::Fd& fd);

  // The tokens of descriptors that are readable or hung up; waits at most `timeout`.
  std::vector<uint64_t> Wait(base::Duration timeout);

 private:
  explicit Poller(posix::Fd epoll) : epoll_(std::move(epoll)) {}
  posix::Fd epoll_;
};

}  // namespace penstock::doorway
